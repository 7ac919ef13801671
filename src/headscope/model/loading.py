"""Loading a model: from the hub, a folder, or the bundled one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from headscope._util.plugins import did_you_mean
from headscope.errors import ModelError
from headscope.model import bundled
from headscope.model.adapters import Adapter, families, family_of
from headscope.model.attention import Kind, Site
from headscope.model.detect import DEFAULT_MAX_LENGTH, detect_attention
from headscope.model.languages import Languages, set_languages
from headscope.model.model import Model
from headscope.model.pruned.kept import HEADS_KEY, SHAPES_KEY, remaining_heads
from headscope.model.pruned.shapes import pruned_class
from headscope.model.stacks import Found
from headscope.model.top import Top
from headscope.model.wrappers import unwrapped

LOADING_ERRORS = (
    OSError,
    ValueError,
    ImportError,
    RuntimeError,
    KeyError,
    TypeError,
    AssertionError,
)
"""What transformers and torch raise for an invalid checkpoint, device or dtype."""
AUTO_CLASSES = {
    Top.NONE: AutoModel,
    Top.CLASSIFIER: AutoModelForSequenceClassification,
    Top.MASKED_LM: AutoModelForMaskedLM,
    Top.CAUSAL_LM: AutoModelForCausalLM,
    Top.SEQ2SEQ: AutoModelForSeq2SeqLM,
}
MISSING_TOP = {
    Top.NONE: "",
    Top.CLASSIFIER: "; fine-tune it first (headscope finetune)",
    Top.MASKED_LM: "; it came without its masked-LM head",
    Top.CAUSAL_LM: "; it came without its language model",
    Top.SEQ2SEQ: "; it came without its language model",
}
"""How the error about missing weights ends."""


TOPS = {
    "ForMaskedLM": Top.MASKED_LM,
    "ForSequenceClassification": Top.CLASSIFIER,
    "ForCausalLM": Top.CAUSAL_LM,
    "LMHeadModel": Top.CAUSAL_LM,
}
"""How the classes of transformers say what is on top."""


def load(
    name: str | Path,
    *,
    top: Top = Top.NONE,
    device: str = "cpu",
    dtype: str = "float32",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    languages: Languages | None = None,
) -> Model:
    """Load a model by hub id, folder, or `minilm`.

    Args:
        top: what to load on top of the last layer; an error if the checkpoint does not have it.
        device: a torch device, such as "cuda".
        dtype: "float32", "bfloat16" or "float16".
        allow_pickle: accept weights that are not safetensors (they can run code).
        trust_remote_code: run code that comes with the model, as in transformers.
        languages: for a model that translates between many, the codes of source and target.

    >>> load("minilm").heads
    12
    """
    if dtype not in ("float32", "bfloat16", "float16"):
        raise ModelError(f"dtype {dtype!r} is not float32, bfloat16 or float16")
    _check_device(device)
    hint = did_you_mean(str(name), [bundled.NAME])
    if hint and str(name) != bundled.NAME and not Path(name).exists():
        raise ModelError(f"there is no model {str(name)!r}{hint}")  # the hub would be asked in vain
    source = bundled.folder() if str(name) == bundled.NAME else name
    families()  # a package that brings an adapter may bring the family itself
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
            config = AutoConfig.from_pretrained(source, **options)
            auto: Any = AUTO_CLASSES[_top_of(config, top)]
            if remaining_heads(config) is not None:
                auto = _pruned(name, auto, config)
            network, info = auto.from_pretrained(
                source,
                dtype=getattr(torch, dtype),
                use_safetensors=None if allow_pickle else True,
                output_loading_info=True,
                **options,
            )
            nn.Module.to(network, device)
    except LOADING_ERRORS as error:
        raise ModelError(explain_loading_error(name, error)) from error
    _check_complete(name, top, info["missing_keys"])
    model = wrap(network, tokenizer, short_name(name), languages=languages)
    model.uninitialised_weights = frozenset(info["missing_keys"])
    model.source = str(source)
    return model


def top_of_checkpoint(name: str | Path) -> Top:
    """What a checkpoint says that it has on top of its last layer.

    >>> top_of_checkpoint("minilm")
    <Top.NONE: 'nothing'>
    """
    source = bundled.folder() if str(name) == bundled.NAME else name
    try:
        with quiet_transformers():
            config = AutoConfig.from_pretrained(source)
    except LOADING_ERRORS as error:
        raise ModelError(explain_loading_error(name, error)) from error
    if getattr(config, "is_encoder_decoder", False):
        return Top.NONE  # `load` gives it what makes it speak
    classes = " ".join(getattr(config, "architectures", None) or ())
    return next((top for ending, top in TOPS.items() if ending in classes), Top.NONE)


def _top_of(config: PretrainedConfig, top: Top) -> Top:
    """What to load: a model with an encoder and a decoder always has what makes it speak, so that
    it can be asked to translate.
    """
    known = type(config) in AutoModelForSeq2SeqLM._model_mapping
    if top is Top.SEQ2SEQ and not known:
        raise ModelError(
            f"the family {config.model_type!r} has no encoder and decoder, so that it cannot "
            "translate"
        )
    speaks = known and getattr(config, "is_encoder_decoder", False)
    return Top.SEQ2SEQ if top is Top.NONE and speaks else top


def _pruned(name: str | Path, auto: Any, config: PretrainedConfig) -> type[PreTrainedModel]:
    """The class of a pruned network, whose modules have the shapes of its configuration."""
    if not hasattr(config, SHAPES_KEY):
        raise ModelError(
            f"{name} was pruned by an earlier version of headscope, whose folders this one does "
            "not read; prune the original again"
        )
    return pruned_class(auto._model_mapping[type(config)])


def _check_device(name: str) -> None:
    """Raise an error if torch does not know a device or cannot use it."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        usable = ["cpu"] + ["cuda"] * torch.cuda.is_available()
        usable += ["mps"] * torch.backends.mps.is_available()
        raise ModelError(
            f"device {name!r} cannot be used here; use {' or '.join(usable)}"
        ) from error


def _check_complete(name: str | Path, top: Top, missing_keys: set[str]) -> None:
    """Raise an error if weights are missing; without a top nothing reads the pooler."""
    missing = sorted(key for key in missing_keys if top is not Top.NONE or "pooler" not in key)
    if missing:
        raise ModelError(
            f"{name}: the checkpoint lacks {len(missing)} weights of the model, such as "
            f"{missing[0]}, which transformers would fill with random numbers{MISSING_TOP[top]}"
        )


def short_name(name: str | Path) -> str:
    """The name under which results list a model: a hub id, or the last part of a folder's path.

    >>> short_name("google/electra-small-discriminator")
    'google/electra-small-discriminator'
    """
    return Path(name).resolve().name if Path(name).is_dir() else str(name)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Suppress transformers' warnings and progress bars."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def wrap(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str = "model",
    weights: str = "trained",
    *,
    languages: Languages | None = None,
) -> Model:
    """Wrap a transformers model that is in memory already; whatever is in training mode stays so.

    Of a model that torch.compile has wrapped, the original is taken; of one with adapters (peft) a
    copy, in which they are merged into the weights.

    Args:
        weights: "trained" or "random".
        languages: for a model that translates between many, the codes of source and target; None:
            as the tokenizer has them.

    >>> from transformers import AutoModel, AutoTokenizer
    >>> parts = (auto.from_pretrained(bundled.folder()) for auto in (AutoModel, AutoTokenizer))
    >>> wrap(*parts, name="mine")
    mine: bert, 6 layers x 12 heads, at most 512 tokens
    """
    network = unwrapped(network)
    inner = cast(PreTrainedModel, network.base_model)
    if pair := set_languages(network, inner, tokenizer, languages):
        name = f"{name} ({' to '.join(pair)})"
    found = _sites(inner, tokenizer)
    adapter, sites = found.adapter, found.sites
    limits = [adapter.max_length(inner.config), tokenizer.model_max_length]
    stated = [int(limit) for limit in limits if isinstance(limit, int) and 0 < limit < 10**9]
    max_length = min(stated, default=DEFAULT_MAX_LENGTH)
    model = Model(name, inner, tokenizer, adapter, sites, max_length, weights, found.missing)
    model.with_top = network if network is not inner else None
    return model


def _sites(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Found:
    """The adapter, and where the model attends (with all heads that it had before pruning)."""
    config = network.config
    remaining, adapter = remaining_heads(config), family_of(config)
    if remaining is not None:
        counts = enumerate(getattr(config, HEADS_KEY))
        layers = [(layer, heads) for layer, heads in counts if heads]
        # nothing is analysed in a pruned model, so that the kind of its attention does not matter
        sites = (Site(Kind.ENCODER, layer, n, heads) for n, (layer, heads) in enumerate(layers))
        return Found(adapter or Adapter(config.model_type), tuple(sites))
    return detect_attention(network, tokenizer)


def explain_loading_error(name: str | Path, error: Exception) -> str:
    """A sentence that says why a model could not be loaded and what to do."""
    text = textwrap.shorten(str(error), 240, placeholder=" ...")
    if "safetensors" in text and Path(name).is_dir():
        return (
            f"{name}: no model.safetensors in this folder; headscope loads only safetensors "
            "unless --allow-pickle is set (pickled weights can run code)"
        )
    if not Path(name).exists() and isinstance(error, OSError):
        return (
            f"{name}: neither a folder nor a model that could be loaded from the hub "
            f"({text}); MODEL is a hub id, a folder, or 'minilm'"
        )
    return f"{name}: cannot be loaded ({type(error).__name__}: {text})"
