"""Tokenizers that are written in Python, as those of the published Marian and M2M100 models are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from tokenizers import Regex, Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import Replace, Sequence, Strip
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoModelForSeq2SeqLM,
    ByT5Tokenizer,
    M2M100Config,
    M2M100Tokenizer,
    MarianConfig,
    MarianTokenizer,
    PreTrainedTokenizerFast,
)

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Example, encode, parallel
from headscope.errors import ModelError
from headscope.evidence import HEADS
from headscope.experiments.ablation.tables import ABLATION
from headscope.model import Model, wrap
from headscope.tasks.translation import TranslationLoss, translate

SIZES: dict[str, Any] = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2}
SIZES |= {"max_position_embeddings": 64, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
SIZES |= {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
PAIRS = [("Ein Hund, der bellt.", "A dog that barks."), ("Sie lacht.", "She laughs at the dog.")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SentencePiece model of the tour's texts, and its vocabulary as Marian keeps it."""
    made = tmp_path_factory.mktemp("spm")
    texts = [example.text or " ".join(example.words) for example in hs.read("tour")]
    texts += [side for pair in PAIRS for side in pair]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(made / "pieces"),
        vocab_size=600,
        character_coverage=1.0,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    model = processor(made)
    pieces = ["<pad>", *(model.id_to_piece(i) for i in range(model.get_piece_size()))]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    (made / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    return made


def processor(folder: Path) -> Any:
    return sentencepiece.SentencePieceProcessor(str(folder / "pieces.model"))


def marian(folder: Path) -> MarianTokenizer:
    pieces = str(folder / "pieces.model")
    return MarianTokenizer(pieces, pieces, str(folder / "vocab.json"))


def m2m100(folder: Path) -> M2M100Tokenizer:
    return M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "pieces.model"))


def fast(folder: Path) -> PreTrainedTokenizerFast:
    """The same pieces by a fast tokenizer."""
    model = processor(folder)
    scores = [(model.id_to_piece(i), model.get_score(i)) for i in range(model.get_piece_size())]
    backend = Tokenizer(Unigram([("<pad>", 0.0), *scores], unk_id=1 + model.unk_id()))
    backend.normalizer = Sequence([Replace(Regex(r"\s+"), " "), Strip()])
    backend.pre_tokenizer = Metaspace()
    end = "</s>"
    backend.post_processor = TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, 1 + model.eos_id())]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=end, unk_token="<unk>", pad_token="<pad>"
    )


@pytest.mark.parametrize("max_length", [512, 9])
@pytest.mark.parametrize("annotated", [False, True])
def test_words_are_those_of_a_fast_tokenizer(
    folder: Path, annotated: bool, max_length: int
) -> None:
    examples = list(hs.read("tour"))[:60]
    if not annotated:
        examples = [Example(each.id, text=" ".join(each.words)) for each in examples]
    examples += [Example("empty", text=""), Example("odd", text=" so  many\tspaces ")]
    assert len(examples) > 20
    ours = encode(examples, marian(folder), max_length)
    theirs = encode(examples, fast(folder), max_length)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.word, other.word)
        np.testing.assert_array_equal(one.special, other.special)
        assert (one.words, one.lost) == (other.words, other.lost)


def test_words_of_a_text_that_also_has_its_words(folder: Path) -> None:
    example = Example("1", text="Ein Hund, der bellt.", words=("Ein", "Hund", ",", "der", "bellt"))
    (one,), (other,) = (encode([example], each(folder), 64) for each in (marian, fast))
    np.testing.assert_array_equal(one.word, other.word)


def test_bytes_are_refused_with_a_sentence() -> None:
    with pytest.raises(ModelError, match="does not read words one by one"):
        encode([Example("1", text="a b")], ByT5Tokenizer(), 64)
    with pytest.raises(ModelError, match="reads no pairs"):
        encode([Example("1", text="a", pair="b")], ByT5Tokenizer(), 64)


def test_a_marian_model_is_scanned(folder: Path) -> None:
    tokenizer = marian(folder)
    config = MarianConfig(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        **SIZES,
    )
    model = wrap(AutoModelForSeq2SeqLM.from_config(config).eval(), tokenizer)
    found = hs.scan(model, parallel(PAIRS * 4), progress=NoProgress())
    assert {row.attention for row in found.rows(HEADS)} == {"encoder", "decoder", "cross"}
    target = model.encode(list(parallel(PAIRS)))[0].target  # type: ignore[attr-defined]  # paired
    assert target.words == ("A", "dog", "that", "barks.")


def many_languages(folder: Path, languages: tuple[str, str] | None = ("de", "en")) -> Model:
    tokenizer = m2m100(folder)
    config = M2M100Config(
        vocab_size=len(tokenizer) + len(tokenizer.lang_code_to_id) + 8,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.eos_token_id,
        **SIZES,
    )
    network = AutoModelForSeq2SeqLM.from_config(config).eval()
    return wrap(network, tokenizer, "many", languages=languages)


def test_a_model_of_many_languages_is_told_two(folder: Path) -> None:
    model = many_languages(folder)
    tokenizer: Any = model.tokenizer
    assert model.name == "many (de to en)"
    (pieces,) = model.encode(list(parallel(PAIRS[:1])))
    assert pieces.ids[0] == tokenizer.get_lang_id("de")
    target: Any = pieces
    assert target.labels[0] == tokenizer.get_lang_id("en")
    assert target.target.special[:2].all()
    inputs = model.batch([pieces]).inputs(model.network)
    said = model.whole.generate(input_ids=inputs["input_ids"], max_length=4)  # type: ignore[operator]  # transformers has no types
    assert said[0, 1] == tokenizer.get_lang_id("en")
    assert len(translate(model, inputs)) == 1
    task = TranslationLoss("pairs", parallel(PAIRS * 4))
    assert hs.ablate(model, task, progress=NoProgress()).rows(ABLATION)


def test_languages_are_asked_for_and_checked(folder: Path) -> None:
    with pytest.raises(ModelError, match="between many languages"):
        many_languages(folder, None)
    with pytest.raises(ModelError, match="no language 'xx'"):
        many_languages(folder, ("de", "xx"))
    with pytest.raises(ModelError, match="no choice of languages"):
        hs.load("minilm", languages=("de", "en"))
