"""Running many variants of a model at little cost, each with some heads of one layer off.

One pass through the intact model computes, layer by layer, the output of every variant of that
layer: the attention is shared, and only the output projection and what follows it in the layer is
computed for each variant. Then, for each layer, all its variants pass through the layers above as
one batch. What a variant shares with the intact model is thus computed once. If the task reads
only the first token, the last layer is computed for that token only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headscope.model.disabling import replacement_outputs
from headscope.model.hooks.head_outputs import HeadOutputs, LayerCounter, intercept_head_outputs
from headscope.model.hooks.tap import exclusive
from headscope.model.model import Model
from headscope.model.replacement import Replacement

ModelInputs = dict[str, Tensor]
Forward = Callable[[ModelInputs, int], Tensor]
"""Runs the network on inputs that are repeated a number of times, one repetition after the other,
and returns what the task reads: (repetition, case, ...)."""


class VariantRunner:
    """Runs a model and all its variants on the same inputs.

    Args:
        variants: by layer, one set of heads for each variant: those that are switched off.
        how: what replaces the output of a head that is switched off.
        means: (layer, head, size) mean output of each head, for `Replacement.MEAN`.
        first_only: whether the task reads only the output of the first token.
    """

    def __init__(
        self,
        model: Model,
        variants: Mapping[int, Sequence[Sequence[int]]],
        how: Replacement = Replacement.UNIFORM,
        means: Tensor | None = None,
        first_only: bool = False,
    ) -> None:
        self.model, self.how, self.means, self.first_only = model, how, means, first_only
        self._as_block_output: Callable[[Tensor], Any] = lambda hidden: hidden
        device = model.network.device
        self.variants = {
            layer: [torch.tensor(heads, device=device) for heads in sets]
            for layer, sets in variants.items()
            if sets
        }

    @torch.inference_mode()
    def __call__(self, inputs: ModelInputs, forward: Forward) -> tuple[Tensor, dict[int, Tensor]]:
        """Run the intact model and all variants.

        Returns:
            What the task reads from the intact model, (case, ...), and by layer from the variants
            of that layer, (variant, case, ...).
        """
        with exclusive(self.model.network):
            intact, hidden_states = self._run_intact(inputs, forward)
            outputs = {}
            for layer in sorted(hidden_states):
                states = hidden_states.pop(layer)
                count = len(states)
                repeated = {name: _repeat(tensor, count) for name, tensor in inputs.items()}
                with self._resumed(layer, states.flatten(0, 1)):
                    outputs[layer] = forward(repeated, count)
            return intact, outputs

    def _run_intact(
        self, inputs: ModelInputs, forward: Forward
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """What the task reads from the intact model, and by layer the outputs of the layer's
        variants: (variant, example, token, hidden).
        """
        hidden_states: dict[int, Tensor] = {}
        with ExitStack() as undo:
            interceptor = undo.enter_context(
                intercept_head_outputs(
                    self.model.network, self.model.adapter, self.model.heads, self._add_variants
                )
            )

            def split_off(_: nn.Module, __: Any, output: Any) -> Any:
                hidden = _hidden(output)
                if interceptor.layer in self.variants:
                    hidden_states[interceptor.layer], hidden = hidden[1:], hidden[0]
                self._as_block_output = partial(_like, output)
                return self._as_block_output(hidden)

            for block in interceptor.blocks:
                undo.callback(block.register_forward_hook(split_off).remove)
            self._cut(interceptor, interceptor.adapter.mlp_module, undo)
            return forward(inputs, 1)[0], hidden_states

    def _add_variants(self, outputs: HeadOutputs) -> Tensor:
        """(1 + variant, example, query, head, size) head outputs of the intact model, followed by
        those of the variants of this layer.
        """
        context = self._rows(outputs.layer, outputs.context)
        if outputs.layer not in self.variants:
            return context
        sets = self.variants[outputs.layer]
        contexts = context.unsqueeze(0).repeat(len(sets) + 1, 1, 1, 1, 1)
        all_heads = torch.arange(self.model.heads, device=context.device)
        substitute = replacement_outputs(outputs, all_heads, self.how, self.means)
        if substitute.shape[1] > 1:  # not the same for all queries
            substitute = self._rows(outputs.layer, substitute)
        for number, heads in enumerate(sets, 1):
            contexts[number, :, :, heads] = substitute[:, :, heads].to(contexts.dtype)
        return contexts

    @contextmanager
    def _resumed(self, layer: int, states: Tensor) -> Iterator[None]:
        """Skip the blocks up to `layer`, whose output is `states`, (example, token, hidden)."""
        counter = LayerCounter(self.model.network, self.model.adapter)

        def skipping(forward: Callable[..., Any]) -> Callable[..., Any]:
            def resume(*arguments: Any, **options: Any) -> Any:
                if counter.layer > layer:
                    return forward(*arguments, **options)
                hidden = arguments[0] if arguments else options["hidden_states"]
                return self._as_block_output(states if counter.layer == layer else hidden)

            return resume

        with ExitStack() as undo:
            counter.count_layers(undo)
            for block in counter.blocks:
                undo.callback(delattr, block, "forward")
                block.forward = skipping(block.forward)
            for path in (counter.adapter.output_projection, counter.adapter.mlp_module):
                self._cut(counter, path, undo)
            yield

    def _rows(self, layer: int, context: Tensor) -> Tensor:
        """Only the first query in the last layer, if the task reads nothing else."""
        last = self.first_only and layer == self.model.layers - 1
        return context[:, :1] if last else context

    def _cut(self, counter: LayerCounter, path: str, undo: ExitStack) -> None:
        """Let a module of the last layer see only the first token, if the task reads nothing else.

        The residual path still has every token; the others are not read there.
        """
        if not self.first_only:
            return

        def cut(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            if counter.layer < self.model.layers - 1:
                return arguments
            return (arguments[0][..., :1, :], *arguments[1:])

        for block in counter.blocks:
            undo.callback(block.get_submodule(path).register_forward_pre_hook(cut).remove)


@torch.inference_mode()
def reads_first_only(model: Model, inputs: ModelInputs, forward: Forward) -> bool:
    """Whether the task reads only the first token of the last layer's output.

    Found by experiment: the outputs of the other tokens are set to zero.
    """
    counter = LayerCounter(model.network, model.adapter)

    def blank_others(_: nn.Module, __: Any, output: Any) -> Any:
        if counter.layer < model.layers - 1:
            return output
        hidden = _hidden(output).clone()
        hidden[:, 1:] = 0
        return _like(output, hidden)

    with exclusive(model.network), ExitStack() as undo:
        expected = forward(inputs, 1)
        counter.count_layers(undo)
        for block in counter.blocks:
            undo.callback(block.register_forward_hook(blank_others).remove)
        return torch.equal(expected, forward(inputs, 1))


def _hidden(output: Any) -> Tensor:
    """The hidden states in the output of a block."""
    hidden: Tensor = output[0] if isinstance(output, tuple) else output
    return hidden


def _like(output: Any, hidden: Tensor) -> Any:
    """The output of a block with other hidden states."""
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def _repeat(tensor: Tensor, times: int) -> Tensor:
    return tensor.repeat(times, *[1] * (tensor.dim() - 1))
