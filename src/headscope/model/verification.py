"""Verifying a way to watch a model, on a padded and an unpadded batch.

The maps must be those that the model itself returns under eager attention, the mask must fit them,
the output must not change, and switching a head off must change it.
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.corpus import Example, encode
from headscope.errors import ModelError
from headscope.model.adapters import Adapter
from headscope.model.attention import Kind, MapWatcher, Seen, Site, Visible
from headscope.model.batch import Batch, make_batch, pad_id
from headscope.model.hooks.attention_function import eager
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.product_layouts import as_whole
from headscope.model.hooks.tap import watch
from headscope.model.token_roles import TokenRoles
from headscope.model.trial import Running, Trial, is_input, no_hooks_left

TRIED = 48
"""Tokens of the longer text that is tried: more than the window or the top k of tiny models."""
LONG = " ".join(
    ["A b, c. D e f, a b; g a d. B e a!", *(["a", "b", "c", "d", "e", "f", "g", "h", "i", "k"] * 5)]
)
SHORT = "A d."
RUN_ERRORS = (TypeError, ValueError, IndexError, AttributeError, RuntimeError, KeyError)
MLP = "mlp"
"""How most families call the feed-forward network of a layer."""
NEVER_SEEN = 0.02
"""Share of the visible pairs of tokens that may get no weight in any head."""
NOTHING_SEEN = (
    "it computes no attention over tokens that could be seen, neither by an attention function of "
    "transformers nor by a softmax that is multiplied by value vectors"
)


class Verification:
    """Tries one way to watch a model."""

    def __init__(
        self, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, adapter: Adapter
    ) -> None:
        self.network, self.tokenizer, self.adapter = network, tokenizer, adapter
        half = network.dtype in (torch.float16, torch.bfloat16)
        self.near = 5e-2 if half else 1e-4
        self.near_output = 1e-1 if half else 1e-3

    def run(self) -> tuple[Adapter, tuple[Site, ...]]:
        """The adapter with all that was found out, and the sites; an error if it does not fit."""
        padded = self._batch(LONG, SHORT)
        try:
            trial = self._watch(padded)
            if self._choose_attentions(padded, trial):
                trial = self._watch(padded)
            long, short = (self._batch(text) for text in (LONG, SHORT))
            beside, alone = self._watch(long), self._watch(short)
            for batch, each in ((padded, trial), (long, beside), (short, alone)):
                self._check_maps(batch, each)
                self._check_own(batch, each)
            self._check_neighbours(trial, beside)
            self._try_padding(padded, trial, alone)
            self._check_switching(padded, trial.output)
        except RUN_ERRORS as error:
            raise ModelError(
                f"it cannot be run on a text alone, it says: {first_line(error)}"
            ) from error
        trial.projections = [  # a model may pad texts by itself, and not in every batch
            name if name == other else None
            for name, other in zip(trial.projections, alone.projections, strict=True)
        ]
        adapter = self._located(trial)
        return adapter, self._sites(trial, adapter)

    def _choose_attentions(self, batch: Batch, trial: Trial) -> bool:
        """Where a layer attends several times, take what the model itself returns for the layer.

        An attention with the very same weights belongs to the same heads (they have several values,
        as in differential attention); any other is left alone.

        Returns:
            Whether there was something to choose.
        """
        own = trial.own
        if not own or len(own) >= len(trial.maps):
            return False
        rows = batch.real[:, None, :, None]
        layers: list[int] = []
        for maps in trial.maps:
            near = [
                number
                for number, other in enumerate(own)
                if maps.shape == other.shape
                and float(((maps - other) * rows).abs().max()) <= self.near
            ]
            layers.append(near[0] if near else -1)
        for turn, layer in enumerate(layers):
            same = [trial.sizes[other] for other, its in enumerate(layers) if its == layer]
            if trial.sizes[turn] < max(same):  # a smaller stream beside that of the text
                layers[turn] = -1
        if [layer for layer in dict.fromkeys(layers) if layer >= 0] != list(range(len(own))):
            raise ModelError(
                f"it attends {len(trial.maps)} times and returns other maps, of {len(own)} layers"
            )
        self.adapter = replace(self.adapter, layers=tuple(layers))
        return True

    def _batch(self, *texts: str) -> Batch:
        limits = [
            TRIED,
            self.adapter.max_length(self.network.config),
            self.tokenizer.model_max_length,
        ]
        longest = min(limit for limit in limits if isinstance(limit, int) and limit > 0)
        examples = [Example(str(number), text=text) for number, text in enumerate(texts)]
        pieces = encode(examples, self.tokenizer, longest)
        roles = TokenRoles(self.tokenizer)
        return make_batch(pieces, roles, pad_id(self.tokenizer), self.network.device)

    def _watch(self, batch: Batch) -> Trial:
        """Run a batch while the model is watched, and while it returns its maps itself."""
        trial, running = Trial(), Running(self.network)
        context: list[Tensor] = []

        def look(seen: Seen, maps: Tensor) -> None:
            trial.sites.append(seen.site)
            trial.maps.append(maps.clone())
            trial.visible.append(seen.view.visible.whole[:, 0].clone())

        def keep(outputs: HeadOutputs) -> Tensor:
            context[:] = [outputs.context.clone()]  # it may be changed in place
            trial.sizes.append(outputs.context.shape[-1])
            if len(trial.blocks) < len(trial.sites):  # not a second time in the same layer
                trial.blocks.append(running.block)
                trial.projections.append(None)
            return outputs.context

        def compare(name: str, arguments: tuple[Any, ...]) -> None:
            if context and trial.projections[-1] is None and is_input(arguments, context[0]):
                trial.projections[-1] = name

        with ExitStack() as undo:
            running.install(undo, compare)
            tap = undo.enter_context(watch(self.network, self.adapter, MapWatcher(look)))
            undo.enter_context(intercept_head_outputs(self.network, self.adapter, keep))
            trial.output = tap.forward(batch)
        if not trial.sites:
            raise ModelError(NOTHING_SEEN)
        trial.own = self._own_maps(batch)
        if len(trial.own) == len(trial.maps):
            pairs = zip(trial.own, trial.maps, strict=True)
            trial.own = [as_whole(returned, ours) for returned, ours in pairs]
        return trial

    def _check_maps(self, batch: Batch, trial: Trial) -> None:
        """Weights must be weights, and the mask must say where they can be."""
        real = batch.real
        pairs = real[:, :, None] & real[:, None, :]
        for layer, (maps, visible) in enumerate(zip(trial.maps, trial.visible, strict=True)):
            if maps.shape[2:] != real.shape[1:] * 2:
                raise ModelError(
                    f"attention {layer} is not over the tokens of the text but over "
                    f"{maps.shape[2]} x {maps.shape[3]} things"
                )
            rows = maps.transpose(1, 2)[real]
            if float(rows.min()) < -self.near or float(rows.sum(-1).max()) > 1 + 100 * self.near:
                raise ModelError(f"what attention {layer} multiplies values by are no weights")
            used = (maps > 0).any(1)
            if bool((used & ~visible & pairs).any()):
                raise ModelError(f"attention {layer} looks at tokens that its mask hides")
            if int((visible & ~used & pairs).sum()) > NEVER_SEEN * int(pairs.sum()):
                raise ModelError(f"attention {layer} never looks at tokens that its mask shows")

    @torch.inference_mode()
    def _check_own(self, batch: Batch, trial: Trial) -> None:
        """Maps and output must be the model's own."""
        plain = self.network(**batch.inputs(self.network))[0]
        if plain.shape == trial.output.shape and plain.shape[:2] == batch.real.shape:
            size = float(plain[batch.real].abs().max().clamp_min(1e-6))
            if float((plain - trial.output)[batch.real].abs().max()) > self.near_output * size:
                raise ModelError("watching it changes its output")
        own = trial.own
        if not own:
            return
        rows = batch.real[:, None, :, None]
        unmatched = iter(own)
        for layer, maps in enumerate(trial.maps):
            off = [
                float(((maps - other) * rows).abs().max()) if maps.shape == other.shape else 1.0
                for other in itertools.islice(unmatched, len(own) - len(trial.maps) + 1)
            ]
            unmatched = iter(own[layer + 1 :])
            if min(off) > self.near:
                raise ModelError(
                    f"the weights of attention {layer} are up to {min(off):.2g} from those that "
                    "the model itself returns"
                )

    @torch.inference_mode()
    def _own_maps(self, batch: Batch) -> list[Tensor]:
        """The maps that the model returns under eager attention; empty if it returns none."""
        with eager(self.network), no_hooks_left(self.network):
            output = self.network(**batch.inputs(self.network), output_attentions=True)
        maps = getattr(output, "attentions", None) or ()
        return [each.float() for each in maps if isinstance(each, Tensor) and each.dim() == 4]

    def _check_neighbours(self, together: Trial, alone: Trial) -> None:
        """The attention of a text that is not padded must not depend on the texts beside it."""
        for beside, single in zip(together.maps, alone.maps, strict=True):
            off = float((beside[0] - single[0]).abs().max())
            if off > self.near:
                raise ModelError(
                    f"its attention to a text changes by up to {off:.2g} with the other texts of a "
                    "batch"
                )

    def _try_padding(self, batch: Batch, padded: Trial, alone: Trial) -> None:
        """Find out whether the attention of a text depends on the texts beside it.

        Where a model chooses the keys that a query sees, ties are broken by the length of a batch.
        """
        rows = batch.real[:, :, None]
        chosen = any(Visible((each & rows)[:, None]).spans is None for each in padded.visible)
        self.adapter = replace(self.adapter, depends_on_padding=chosen)
        for beside, single in zip(padded.maps, alone.maps, strict=True):
            length = single.shape[-1]
            off = float((beside[1, :, :length, :length] - single[0]).abs().max())
            if off > 10 * self.near:
                self.adapter = replace(self.adapter, depends_on_padding=True)

    @torch.inference_mode()
    def _check_switching(self, batch: Batch, output: Tensor) -> None:
        """Switching a head of the last layer off must change the output."""
        inputs = batch.inputs(self.network)
        turns = 0

        def off(outputs: HeadOutputs) -> Tensor:
            nonlocal turns
            turns += 1
            context = outputs.context.clone()
            context[:, :, 0] = 0
            return context

        with intercept_head_outputs(self.network, self.adapter, off):
            changed = self.network(**inputs)[0]
        if not turns or torch.equal(changed[batch.real], output[batch.real]):
            raise ModelError("switching its heads off changes nothing")

    def _located(self, trial: Trial) -> Adapter:
        """The adapter with the layers that attend, and where their heads are projected."""
        adapter = self.adapter
        lists = {block[0] for block in trial.blocks if block is not None}
        numbers = [-1 if block is None else block[1] for block in trial.blocks]
        rising = all(first < second for first, second in itertools.pairwise(numbers))
        if len(lists) == 1 and rising and numbers[0] >= 0:
            turns = adapter.layers or range(len(numbers))
            layers = tuple(numbers[turn] if turn >= 0 else -1 for turn in turns)
            in_order = layers == tuple(range(len(layers)))
            layers = () if in_order else layers
            adapter = replace(adapter, layers=layers, block_list=lists.pop())
        if not adapter.output_projection:
            adapter = replace(adapter, output_projection=self._projection(trial, adapter))
            blocks = adapter.blocks(self.network) if adapter.output_projection else []
            if blocks and all(isinstance(getattr(block, MLP, None), nn.Module) for block in blocks):
                adapter = replace(adapter, mlp_module=MLP)
        return adapter

    def _projection(self, trial: Trial, adapter: Adapter) -> str:
        """The path in its layer of the module that projects the outputs of heads; "" for none."""
        paths = set()
        for name, block in zip(trial.projections, trial.blocks, strict=True):
            if name is None or block is None:
                return ""
            prefix = f"{block[0]}.{block[1]}."
            paths.add(name.removeprefix(prefix) if name.startswith(prefix) else "")
        return paths.pop() if len(paths) == 1 and adapter.block_list else ""

    def _sites(self, trial: Trial, adapter: Adapter) -> tuple[Site, ...]:
        both_ways = any(site.kind is Kind.ENCODER for site in trial.sites)
        kind = Kind.ENCODER if both_ways else Kind.DECODER
        layers = adapter.attending or range(len(trial.sites))
        return tuple(
            replace(site, kind=kind, layer=layer)
            for site, layer in zip(trial.sites, layers, strict=True)
        )


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
