"""The two languages of a model that translates between many (NLLB, mBART, M2M100)."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.errors import ModelError
from headscope.model.two_stacks import has_two_stacks

Languages = tuple[str, str]
"""The codes of the source and of the target language, as the tokenizer knows them."""


def set_languages(
    network: PreTrainedModel,
    inner: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    languages: Languages | None,
) -> Languages | None:
    """Have a model read one language and say another.

    A model that knows many, and was told none, is refused: its numbers would be those of a text in
    the wrong language.

    Args:
        inner: the network without what makes it speak.
        languages: None: as the tokenizer has them.

    Returns:
        The languages; None for a model that has no choice.
    """
    many: Any = tokenizer
    if not hasattr(many, "tgt_lang") or not has_two_stacks(inner):
        if languages is not None:
            raise ModelError("it has no choice of languages (--languages)")
        return None
    source, target = languages or (many.src_lang, many.tgt_lang)
    if not source or not target:
        raise ModelError(
            "it translates between many languages: say which two, as in "
            "--languages deu_Latn,eng_Latn, or set src_lang and tgt_lang of its tokenizer"
        )
    for code in (source, target):
        if _token_of(many, code) is None:
            raise ModelError(f"its tokenizer knows no language {code!r}")
    many.src_lang, many.tgt_lang = source, target
    number = _token_of(many, target)
    starts = tokenizer(text_target="")["input_ids"][0] == number
    setting = "forced_bos_token_id" if starts else "decoder_start_token_id"
    if not starts:  # what is said ends with the language, and the decoder starts from it
        network.config.decoder_start_token_id = number
    if getattr(network, "generation_config", None) is not None:
        setattr(network.generation_config, setting, number)
    return source, target


def _token_of(tokenizer: Any, code: str) -> int | None:
    """The token that stands for a language; None if there is no such language."""
    token = getattr(tokenizer, "lang_code_to_token", {}).get(code, code)
    number: int = tokenizer.convert_tokens_to_ids(token)
    return None if number == tokenizer.unk_token_id else number
