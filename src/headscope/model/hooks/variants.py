"""The fork: many variants of a model, each with something off in one layer, for little.

One pass through the intact model computes, layer by layer, what every variant of that layer would
hand on: the attention is shared, only the output projection and what follows in the layer is done
for each. Then, for each layer, all its variants go through the layers above as one batch. What a
variant shares with the intact model is so computed once. Where the task reads the first token
alone, the last layer is computed for that token alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headscope.model.disabling import How, replaced
from headscope.model.hooks.head_outputs import HeadOutputs, Layers, changing
from headscope.model.hooks.tap import held
from headscope.model.loading import Model

Inputs = dict[str, Tensor]
Run = Callable[[Inputs, int], Tensor]
"""Runs the network on inputs that stand so many times one after the other, and reads what the
task wants: (times, case, ...)."""


class Fork:
    """Runs a model and all its variants on the same inputs.

    Args:
        variants: by layer, the sets of heads of that layer to switch off, one set a variant.
        first_only: whether the task reads the first token's output alone.
    """

    def __init__(
        self,
        model: Model,
        variants: Mapping[int, Sequence[Sequence[int]]],
        how: How = How.UNIFORM,
        means: Tensor | None = None,
        first_only: bool = False,
    ) -> None:
        self.model, self.how, self.means, self.first_only = model, how, means, first_only
        self._like: Callable[[Tensor], Any] = lambda hidden: hidden
        device = model.network.device
        self.variants = {
            layer: [torch.tensor(heads, device=device) for heads in sets]
            for layer, sets in variants.items()
            if sets
        }

    @torch.inference_mode()
    def __call__(self, inputs: Inputs, run: Run) -> tuple[Tensor, dict[int, Tensor]]:
        """What the task reads from the intact model, (case, ...), and from the variants of each
        layer, (variant, case, ...).
        """
        with held(self.model.network):
            intact, kept = self._intact(inputs, run)
            found = {}
            for layer in sorted(kept):
                states = kept.pop(layer)
                times = len(states)
                many = {name: _repeat(one, times) for name, one in inputs.items()}
                with self._resumed(layer, states.flatten(0, 1)):
                    found[layer] = run(many, times)
            return intact, found

    def _intact(self, inputs: Inputs, run: Run) -> tuple[Tensor, dict[int, Tensor]]:
        """The intact pass, and what the variants of each layer hand on: (variant, example, token,
        hidden).
        """
        kept: dict[int, Tensor] = {}

        def expand(outputs: HeadOutputs) -> Tensor:
            context = self._rows(outputs.layer, outputs.context)
            if outputs.layer not in self.variants:
                return context
            sets = self.variants[outputs.layer]
            made = context.unsqueeze(0).repeat(len(sets) + 1, 1, 1, 1, 1)
            every = torch.arange(self.model.heads, device=context.device)
            instead = replaced(outputs, every, self.how, self.means)
            if instead.shape[1] > 1:  # not the same for all queries
                instead = self._rows(outputs.layer, instead)
            for place, heads in enumerate(sets, 1):
                made[place, :, :, heads] = instead[:, :, heads].to(made.dtype)
            return made

        network = self.model.network
        with ExitStack() as undo:
            arguments = (network, self.model.adapter, self.model.heads, expand)
            outlet = undo.enter_context(changing(*arguments))

            def keep(_: nn.Module, __: Any, output: Any) -> Any:
                hidden = _hidden(output)
                if outlet.layer in self.variants:
                    kept[outlet.layer], hidden = hidden[1:], hidden[0]
                self._like = partial(_like, output)
                return self._like(hidden)

            for block in outlet.blocks:
                undo.callback(block.register_forward_hook(keep).remove)
            self._cut(outlet, outlet.adapter.feed, undo)
            return run(inputs, 1)[0], kept

    @contextmanager
    def _resumed(self, layer: int, states: Tensor) -> Iterator[None]:
        """Have the blocks up to `layer` give what is known instead of working."""
        layers = Layers(self.model.network, self.model.adapter)

        def instead(forward: Callable[..., Any]) -> Callable[..., Any]:
            def resume(*arguments: Any, **options: Any) -> Any:
                if layers.layer > layer:
                    return forward(*arguments, **options)
                hidden = arguments[0] if arguments else options["hidden_states"]
                return self._like(states if layers.layer == layer else hidden)

            return resume

        with ExitStack() as undo:
            layers.count(undo)
            for block in layers.blocks:
                undo.callback(delattr, block, "forward")
                block.forward = instead(block.forward)
            for path in (layers.adapter.output, layers.adapter.feed):
                self._cut(layers, path, undo)
            yield

    def _rows(self, layer: int, context: Tensor) -> Tensor:
        """Only the first query in the last layer, where nothing else is read."""
        last = self.first_only and layer == self.model.layers - 1
        return context[:, :1] if last else context

    def _cut(self, layers: Layers, path: str, undo: ExitStack) -> None:
        """Have a part of the last layer see the first token alone, where nothing else is read.

        The residual path still has every token; what becomes of the others there is not read.
        """
        if not self.first_only:
            return

        def cut(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            if layers.layer < self.model.layers - 1:
                return arguments
            return (arguments[0][..., :1, :], *arguments[1:])

        for block in layers.blocks:
            undo.callback(block.get_submodule(path).register_forward_pre_hook(cut).remove)


@torch.inference_mode()
def reads_first_only(model: Model, inputs: Inputs, run: Run) -> bool:
    """Whether what the task reads depends on the last layer's first token alone, found by trying:
    the other tokens' outputs are set to zero.
    """
    layers = Layers(model.network, model.adapter)

    def blank(_: nn.Module, __: Any, output: Any) -> Any:
        if layers.layer < model.layers - 1:
            return output
        hidden = _hidden(output).clone()
        hidden[:, 1:] = 0
        return _like(output, hidden)

    with held(model.network), ExitStack() as undo:
        before = run(inputs, 1)
        layers.count(undo)
        for block in layers.blocks:
            undo.callback(block.register_forward_hook(blank).remove)
        return torch.equal(before, run(inputs, 1))


def _hidden(output: Any) -> Tensor:
    hidden: Tensor = output[0] if isinstance(output, tuple) else output
    return hidden


def _like(output: Any, hidden: Tensor) -> Any:
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def _repeat(one: Tensor, times: int) -> Tensor:
    return one.repeat(times, *[1] * (one.dim() - 1))
