"""Loading a model: a hub id, a folder, or the bundled one; and finding out how to watch it."""

from __future__ import annotations

import copy
import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from headscope.corpus import Example, Pieces, encode
from headscope.errors import HeadscopeError, InputError, ModelError
from headscope.model import bundled
from headscope.model.adapters import Adapter, family_of
from headscope.model.attention import LayerAttention
from headscope.model.batch import Batch, make_batch
from headscope.model.detect import UNLIMITED, find_attention, pad_id
from headscope.model.hooks.tap import Observer, Tap, watch
from headscope.model.pruned.shrink import kept_of, restored
from headscope.model.token_roles import Roles

LOADING = (OSError, ValueError, ImportError, RuntimeError, KeyError, TypeError, AssertionError)
"""What transformers and torch raise when a checkpoint, a device or a number type is wrong."""


class Head(StrEnum):
    """What a model has on top of its last layer (nothing to do with attention heads)."""

    NONE = "nothing"
    CLASSIFIER = "classifier"
    MASKED_LM = "masked-lm"


CLASSES = {
    Head.NONE: AutoModel,
    Head.CLASSIFIER: AutoModelForSequenceClassification,
    Head.MASKED_LM: AutoModelForMaskedLM,
}


@dataclass
class Model:
    """A transformer that can be watched, with its tokenizer.

    Attributes:
        name: as it was asked for.
        network: the encoder or decoder itself, without what is on top.
        headed: the same with what is on top, where that was asked for.
        layers, heads: the shape of its attention, as a dry run found it.
        max_length: the most tokens that it takes.
        weights: "trained" or "random".
        made_up: names of weights that the checkpoint lacks (a pooler, which nothing here reads).

    >>> load("minilm")
    minilm: bert, 6 layers x 12 heads, at most 512 tokens
    """

    name: str
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    adapter: Adapter
    layers: int
    heads: int
    max_length: int
    weights: str = "trained"
    made_up: frozenset[str] = frozenset()
    headed: PreTrainedModel | None = field(default=None, repr=False)
    roles: Roles = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.roles = Roles(self.tokenizer)

    def __repr__(self) -> str:
        random = "" if self.weights == "trained" else " (random weights)"
        shape = f"{self.layers} layers x {self.heads} heads"
        kept = kept_of(self.network.config)
        if kept is not None:
            left = sum(len(some) for some in kept)
            shape = f"{self.layers} layers, {left} of {self.layers * self.heads} heads"
        kind = self.network.config.model_type
        return f"{self.name}{random}: {kind}, {shape}, at most {self.max_length} tokens"

    @property
    def whole(self) -> PreTrainedModel:
        """The network with all that it has on top."""
        return self.headed or self.network

    @cached_property
    def sha256(self) -> str:
        """A hash of the family's name and of every weight that the checkpoint gave, by name.

        Of the encoder itself, whatever is on top.
        """
        return self._hash(self.network)

    def _hash(self, network: PreTrainedModel) -> str:
        sha = hashlib.sha256(str(network.config.model_type).encode())
        for name, tensor in sorted(network.state_dict().items()):
            if name in self.made_up:
                continue
            sha.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            sha.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        return sha.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What identifies the model, for the run's record."""
        return {
            "name": self.name,
            "family": self.network.config.model_type,
            "layers": self.layers,
            "heads": self.heads,
            "max_length": self.max_length,
            "parameters": sum(p.numel() for p in self.network.parameters()),
            "sha256": self.sha256,
            "whole_sha256": self._hash(self.headed) if self.headed else None,
            "dtype": str(self.network.dtype).removeprefix("torch."),
        }

    def encode(self, examples: Sequence[Example], max_length: int | None = None) -> list[Pieces]:
        """Tokenize examples, cut to `max_length` (default: the model's limit)."""
        return encode(examples, self.tokenizer, max_length or self.max_length)

    def check_length(self, max_length: int | None) -> None:
        """Texts can be cut to what a model takes, and not to nothing."""
        if max_length is not None and not 3 <= max_length <= self.max_length:
            limit = f"between 3 and the {self.max_length} that {self.name} takes"
            raise HeadscopeError(f"--max-length is {max_length}, not {limit}")

    def check_whole(self, pieces: Pieces, max_length: int | None, path: Path) -> None:
        """A text that was cut without anybody having asked for it is an error."""
        if pieces.lost and max_length is None:
            raise InputError(
                f"example {pieces.example.id} has {len(pieces) + pieces.lost} pieces and "
                f"{self.name} takes {self.max_length}; to cut long texts, ask for it: "
                f"--max-length {self.max_length}",
                path,
            )

    def copied(self) -> Model:
        """The same model with weights of its own."""
        whole = copy.deepcopy(self.whole).eval()
        made = replace(self, network=cast(PreTrainedModel, whole.base_model))
        made.headed = whole if made.network is not whole else None
        return made

    @cached_property
    def gives_values(self) -> bool:
        """Whether its value vectors and output projections can be seen."""
        try:
            return bool(self.adapter.blocks(self.network))
        except ModelError:
            return False

    @cached_property
    def causal(self) -> bool:
        """Whether a token sees only what stands before it, as a decoder's does."""
        sees_ahead: list[bool] = []

        def look(attention: LayerAttention) -> None:
            sees_ahead.append(bool(attention.visible.mask[:, 0].triu(1).any()))

        with self.watch(look) as tap:
            tap.forward(self.batch(self.encode([Example("ahead", text="a b c")])))
        return not any(sees_ahead)

    @cached_property
    def specials(self) -> int:
        """How many specials the tokenizer puts around one text."""
        (empty,) = self.encode([Example("empty", text="a")])
        return int(empty.special.sum())

    def batch(self, pieces: Sequence[Pieces]) -> Batch:
        """Pad examples into one batch on the model's device."""
        return make_batch(pieces, self.roles, pad_id(self.tokenizer), self.network.device)

    def watch(self, observer: Observer) -> AbstractContextManager[Tap]:
        """Watch every layer's attention for the time of a `with` (see `tap.watch`)."""
        return watch(self.network, self.adapter, observer)

    def tokens(self, pieces: Pieces) -> list[str]:
        """The pieces of an example as a reader would write them."""
        raw = self.tokenizer.convert_ids_to_tokens(pieces.ids.tolist())
        return [str(token).replace("Ġ", " ").replace("▁", " ").strip() or "␣" for token in raw]


def load(
    name: str | Path,
    *,
    head: Head = Head.NONE,
    device: str = "cpu",
    dtype: str = "float32",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
) -> Model:
    """Load a model by hub id, folder, or `minilm`, ready to be watched.

    Args:
        head: what it is to have on top; a checkpoint that lacks it is an error.
        allow_pickle: accept weights that are not safetensors (they can run code).
        trust_remote_code: as in transformers; never on its own.

    >>> load("minilm").heads
    12
    """
    if dtype not in ("float32", "bfloat16", "float16"):
        raise ModelError(f"dtype {dtype!r} is not float32, bfloat16 or float16")
    place = bundled.folder() if str(name) == bundled.NAME else name
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    try:
        with hushed():
            tokenizer = AutoTokenizer.from_pretrained(place, **options)
            config = AutoConfig.from_pretrained(place, **options)
            if kept_of(config) is not None:
                made = CLASSES[head].from_config(config, dtype=getattr(torch, dtype))
                network, info = restored(Path(place), made)
            else:
                network, info = CLASSES[head].from_pretrained(
                    place,
                    dtype=getattr(torch, dtype),
                    use_safetensors=None if allow_pickle else True,
                    output_loading_info=True,
                    **options,
                )
            nn.Module.to(network, device)
    except LOADING as error:
        raise ModelError(explain(name, error)) from error
    read = head is not Head.NONE  # then a pooler is read as well
    lacking = sorted(key for key in info["missing_keys"] if read or "pooler" not in key)
    if lacking:
        how = {
            Head.CLASSIFIER: "; fine-tune it first (headscope finetune)",
            Head.MASKED_LM: "; it came without its masked-LM head",
        }.get(head, "")
        raise ModelError(
            f"{name}: the checkpoint lacks {len(lacking)} weights of the model, such as "
            f"{lacking[0]}, which transformers would fill with random numbers{how}"
        )
    model = wrap(network, tokenizer, short_name(name))
    model.made_up = frozenset(info["missing_keys"])
    return model


def short_name(name: str | Path) -> str:
    """How a model is called: a folder by its own name, without the way to it."""
    return Path(name).resolve().name if Path(name).is_dir() else str(name)


@contextmanager
def hushed() -> Iterator[None]:
    """Silence transformers' reports and bars for a while: what matters, headscope says."""
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
) -> Model:
    """Make a model that is in memory already ready to be watched."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{name}: its tokenizer has no fast version, which alignment needs")
    network.train(False)
    headed, network = network, cast(PreTrainedModel, network.base_model)
    kept, known = kept_of(network.config), family_of(network.config)
    if kept is not None and known is not None:
        adapter, layers, heads = known, len(kept), int(network.config.num_attention_heads)
    else:
        adapter, layers, heads = find_attention(network, tokenizer)
        adapter = adapter.placed(network)
    limits = [adapter.max_length(network.config), tokenizer.model_max_length]
    stated = [int(limit) for limit in limits if isinstance(limit, int) and 0 < limit < 10**9]
    limit = min(stated, default=UNLIMITED)
    model = Model(name, network, tokenizer, adapter, layers, heads, limit, weights)
    model.headed = headed if headed is not network else None
    return model


def explain(name: str | Path, error: Exception) -> str:
    """One sentence on why a model did not load, and what to do."""
    text = textwrap.shorten(str(error), 240, placeholder=" ...")
    if "safetensors" in text and Path(name).is_dir():
        return (
            f"{name}: no model.safetensors in this folder; headscope loads only safetensors "
            "unless told otherwise (--allow-pickle, which can run code)"
        )
    if not Path(name).exists() and isinstance(error, OSError):
        return (
            f"{name}: neither a folder here nor a model that the hub gave "
            f"({text}); MODEL is a hub id, a folder, or 'minilm'"
        )
    return f"{name}: cannot be loaded ({type(error).__name__}: {text})"
