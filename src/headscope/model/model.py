"""A transformer whose attention can be observed, with its tokenizer."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope._util.naming import SELF, head_name
from headscope.corpus import Example, PairedPieces, Pieces, encode
from headscope.corpus.paired_pieces import pair_up
from headscope.errors import HeadscopeError, InputError, ModelError
from headscope.model.adapters import Adapter
from headscope.model.attention import Kind, Site, Watcher
from headscope.model.batch import Batch, make_batch, pad_id
from headscope.model.hooks.tap import Tap, watch
from headscope.model.paired_batch import make_paired_batch
from headscope.model.pruned.kept import remaining_heads
from headscope.model.token_roles import TokenRoles
from headscope.model.two_stacks import has_two_stacks


@dataclass
class Model:
    """A transformer whose attention can be observed, with its tokenizer.

    Attributes:
        name: the name by which it was loaded.
        network: the encoder or decoder, without a classifier or language model on top.
        sites: where it attends, with all heads that it had before pruning.
        max_length: the largest number of tokens it accepts.
        weights: "trained" or "random".
        source: the folder or hub id that it was loaded from; None: it was in memory.
        uninitialised_weights: names of weights that are missing in the checkpoint (a pooler, which
            nothing here reads).
        with_top: the network with its classifier or language model, if it was loaded with one.
        token_roles: finds separators and punctuation among token ids.
        missing: kinds of attention that cannot be seen, and why.
        resumable: whether variants can be run from the layer in which they differ; None: not tried.

    >>> from headscope.model import load
    >>> load("minilm")
    minilm: bert, 6 layers x 12 heads, at most 512 tokens
    """

    name: str
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    adapter: Adapter
    sites: tuple[Site, ...]
    max_length: int
    weights: str = "trained"
    missing: dict[Kind, str] = field(default_factory=dict, repr=False)
    source: str | None = field(default=None, repr=False)
    uninitialised_weights: frozenset[str] = frozenset()
    with_top: PreTrainedModel | None = field(default=None, repr=False)
    token_roles: TokenRoles = field(init=False, repr=False)
    resumable: bool | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.token_roles = TokenRoles(self.tokenizer)

    def __repr__(self) -> str:
        random = "" if self.weights == "trained" else " (random weights)"
        shape = f"{self.layers} layers x {self.heads} heads"
        if len(set(self.head_counts)) > 1:
            attending = sum(count > 0 for count in self.head_counts)
            shape = f"{self.layers} layers, {attending} of them with up to {self.heads} heads"
        remaining = remaining_heads(self.network.config)
        if remaining is not None:
            count = sum(len(heads) for heads in remaining)
            shape = f"{self.layers} layers, {count} of {sum(self.head_counts)} heads"
        elif self.adapter.modules:
            parts = (
                f"{kind} {len(sites)} x {sites[0].heads}" for kind, sites in self.stacks.items()
            )
            shape = f"{', '.join(parts)} heads"
        family = self.network.config.model_type
        return f"{self.name}{random}: {family}, {shape}, at most {self.max_length} tokens"

    @cached_property
    def numbered_sites(self) -> dict[int, Site]:
        """Where it attends, by number: its layers, or in two stacks all attentions in order."""
        if self.adapter.modules:
            return dict(enumerate(self.sites))
        return {site.layer: site for site in self.sites}

    @property
    def layers(self) -> int:
        """The number of layers up to the last one that attends; in two stacks, of attentions."""
        return max(self.numbered_sites) + 1

    @property
    def heads(self) -> int:
        """The number of heads in each layer, or in the layer that has most."""
        return max(site.heads for site in self.sites)

    @property
    def head_counts(self) -> tuple[int, ...]:
        """The number of heads of each layer; 0 for a layer that does not attend."""
        sites = self.numbered_sites
        return tuple(sites[number].heads if number in sites else 0 for number in range(self.layers))

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(layer, head) of all heads, in the order in which they are numbered."""
        counts = enumerate(self.head_counts)
        return tuple((layer, head) for layer, heads in counts for head in range(heads))

    def named(self, number: int) -> tuple[str, int]:
        """The kind of attention that a number stands for, as tables write it, and its layer."""
        if not self.adapter.modules:
            return SELF, number
        return str(self.sites[number].kind), self.sites[number].layer

    def head_name(self, number: int, head: int | None = None) -> str:
        """The name of a head of an attention."""
        attention, layer = self.named(number)
        return head_name(layer, head, attention)

    def places_of(self, numbers: Iterable[int]) -> list[tuple[int, int]]:
        """(layer, head) of heads that are numbered through the layers."""
        return [self.places[number] for number in numbers]

    @property
    def uneven(self) -> tuple[int, ...]:
        """The number of heads of each layer if layers differ in it, else ()."""
        return self.head_counts if len(set(self.head_counts)) > 1 else ()

    def check_even(self, what: str) -> None:
        """Raise an error if layers differ in their number of heads, which `what` cannot handle."""
        if self.uneven:
            counts = ", ".join(map(str, self.head_counts))
            raise ModelError(
                f"the layers of {self.name} have different numbers of heads ({counts}), which "
                f"{what} cannot handle yet"
            )

    @property
    def width(self) -> int:
        """The number of numbers in a hidden state."""
        config = self.network.config
        own = getattr(config, "hidden_size", None)
        return int(own or config.get_text_config(decoder=True).hidden_size)

    def check_one_stack(self, what: str) -> None:
        """Raise an error if it has an encoder and a decoder, which `what` cannot handle."""
        if self.translates:
            raise ModelError(
                f"{self.name} has an encoder and a decoder, which {what} cannot handle yet"
            )

    @property
    def whole(self) -> PreTrainedModel:
        """The network with its classifier or language model on top, if it has one."""
        return self.with_top or self.network

    @cached_property
    def sha256(self) -> str:
        """Hash of the family and of every weight in the checkpoint, without those on top."""
        return self._hash(self.network)

    def _hash(self, network: PreTrainedModel) -> str:
        sha = hashlib.sha256(str(network.config.model_type).encode())
        for name, tensor in sorted(network.state_dict().items()):
            if name in self.uninitialised_weights:
                continue
            sha.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            flat = tensor.detach().cpu().contiguous().flatten()
            sha.update(flat.view(torch.uint8).numpy().data)
        return sha.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What identifies the model, as it is written to `run.json`."""
        stacks = self.stacks if self.adapter.modules else {}
        kinds = {str(kind): [site.heads for site in sites] for kind, sites in stacks.items()}
        return {
            "name": self.name,
            "family": self.network.config.model_type,
            "layers": self.layers,
            "heads": self.heads,
            "max_length": self.max_length,
            "parameters": sum(p.numel() for p in self.network.parameters()),
            "sha256": self.sha256,
            "whole_sha256": self._hash(self.with_top) if self.with_top else None,
            "dtype": str(self.network.dtype).removeprefix("torch."),
            "attentions": kinds,
        }

    def encode(self, examples: Sequence[Example], max_length: int | None = None) -> list[Pieces]:
        """Tokenize examples, truncated to `max_length` tokens (default: the model's limit).

        For a model with an encoder and a decoder they are `PairedPieces`.
        """
        limit = max_length or self.max_length
        texts = encode(examples, self.tokenizer, limit)
        if not self.translates:
            return texts
        start = getattr(self.network.config, "decoder_start_token_id", None)
        return list(pair_up(texts, self.tokenizer, limit, start))

    def check_length(self, max_length: int | None) -> None:
        """Raise an error if texts cannot be truncated to `max_length` tokens for this model."""
        if max_length is not None and not 3 <= max_length <= self.max_length:
            limit = f"between 3 and the {self.max_length} that {self.name} takes"
            raise HeadscopeError(f"--max-length is {max_length}, not {limit}")

    def check_not_truncated(self, pieces: Pieces, max_length: int | None, path: Path) -> None:
        """Raise an error if a text was truncated although no `max_length` was set."""
        for side in pieces.sides:
            if side.lost and max_length is None:
                raise InputError(
                    f"example {pieces.example.id} has {len(side) + side.lost} pieces and "
                    f"{self.name} takes {self.max_length}; to cut long texts, ask for it: "
                    f"--max-length {self.max_length}",
                    path,
                )

    def copy(self) -> Model:
        """The same model with its own copy of all weights."""
        whole = copy.deepcopy(self.whole).eval()
        network = cast(PreTrainedModel, whole.base_model)
        return replace(self, network=network, with_top=whole if network is not whole else None)

    @cached_property
    def exposes_values(self) -> bool:
        """Whether the value vectors and output projections of the layers can be read."""
        return self.adapter.exposes_values

    @cached_property
    def translates(self) -> bool:
        """Whether it has an encoder and a decoder."""
        return has_two_stacks(self.network)

    @property
    def kind(self) -> Kind:
        """Whose queries look at whose keys, in a model of one stack."""
        return self.sites[0].kind

    @cached_property
    def stacks(self) -> dict[Kind, tuple[Site, ...]]:
        """Where it attends, by kind; a model of one stack has one."""
        kinds = dict.fromkeys(site.kind for site in self.sites)
        return {kind: tuple(s for s in self.sites if s.kind is kind) for kind in kinds}

    @property
    def attentions(self) -> tuple[str, ...]:
        """For each number of an attention its kind, as tables write it; () in one stack."""
        return tuple(str(site.kind) for site in self.sites) if self.adapter.modules else ()

    @property
    def causal(self) -> bool:
        """Whether a token sees only the tokens before it, as in a decoder."""
        return self.kind is Kind.DECODER

    @cached_property
    def num_special_tokens(self) -> int:
        """The number of special tokens that the tokenizer adds to a single text."""
        (pieces,) = self.encode([Example("empty", text="a")])
        return int(pieces.special.sum())

    def batch(self, pieces: Sequence[Pieces]) -> Batch:
        """Pad tokenized examples into a batch on the model's device."""
        how = (self.token_roles, pad_id(self.tokenizer), self.network.device)
        paired = [text for text in pieces if isinstance(text, PairedPieces)]
        return make_paired_batch(paired, *how) if paired else make_batch(pieces, *how)

    def watch(self, *watchers: Watcher, norm_weighted: bool = False) -> AbstractContextManager[Tap]:
        """Answer what watchers ask of the attention of every layer, within a `with`.

        Args:
            norm_weighted: multiply weights by the norms of value vectors (Kobayashi et al. 2020).
        """
        sites = self.numbered_sites
        return watch(
            self.network, self.adapter, *watchers, sites=sites, norm_weighted=norm_weighted
        )

    def tokens(self, pieces: Pieces) -> list[str]:
        """The tokens of an example without the tokenizer's marks for spaces."""
        raw = self.tokenizer.convert_ids_to_tokens(pieces.ids.tolist())
        return [str(token).replace("Ġ", " ").replace("▁", " ").strip() or "␣" for token in raw]
