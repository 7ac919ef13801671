"""Running many variants of a model, each with some heads of one layer off.

Where the inputs of the output projections are the outputs of heads, this costs little.

One pass through the intact model computes, layer by layer, the output of every variant of that
layer: the attention is shared, and only the output projection and what follows it in the layer is
computed for each variant. Then, for each layer, all its variants pass through the layers above as
one batch. What a variant shares with the intact model is thus computed once. If the task reads
only the first token, the last layer is computed for that token only.

In other models (something stands between heads and projection, or a layer cannot be run on its
own) every variant is a whole run of the model; which of the two it is, is found out by trying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.model.adapters import Adapter, families
from headscope.model.disabling import replacement_outputs
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.tap import exclusive
from headscope.model.model import Model
from headscope.model.modes import evaluating
from headscope.model.replacement import Replacement

ModelInputs = dict[str, Tensor]
Forward = Callable[[ModelInputs, int], Tensor]
"""Runs the network on inputs that are repeated a number of times, one repetition after the other,
and returns what the task reads: (repetition, case, ...)."""


NEAR = 1e-3
"""How far two ways to run a variant may differ, relative to the largest output."""


class LayerCounter:
    """Knows which layer is running. Layers are counted as they run: ALBERT's share one module."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter) -> None:
        self.network, self.adapter = network, adapter
        self.blocks = adapter.blocks(network)
        self.layer, self._turn = -1, -1

    def count_layers(self, undo: ExitStack) -> None:
        """Install the hooks that count layers until `undo` is closed."""

        def begin(_: nn.Module, __: Any) -> None:
            self.layer = self._turn = -1

        def enter(_: nn.Module, __: Any) -> None:
            self._turn += 1
            self.layer = self.adapter.layer_of(self._turn)

        undo.callback(self.network.register_forward_pre_hook(begin).remove)
        for block in self.blocks:
            undo.callback(block.register_forward_pre_hook(enter).remove)


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
        self._outputs: HeadOutputs | None = None
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
        with exclusive(self.model.network), evaluating(self.model.whole):
            if self.model.resumable is None:
                self.model.resumable = self._is_resumable(inputs, forward)
            run = self._resume if self.model.resumable else self._run_whole
            return run(inputs, forward)

    def _is_resumable(self, inputs: ModelInputs, forward: Forward) -> bool:
        """Whether resuming gives what whole runs give, tried on a head of two layers."""
        if self.model.adapter.family in families():  # tests compare them
            return True
        layers = sorted({self.model.sites[0].layer, self.model.sites[-1].layer})
        heads = {layer: [[0]] for layer in layers}
        trial = VariantRunner(self.model, heads, Replacement.ZERO, first_only=self.first_only)
        _, expected = trial._run_whole(inputs, forward)
        try:
            _, outputs = trial._resume(inputs, forward)
        except (RuntimeError, ModelError, ValueError, IndexError, AttributeError, TypeError):
            return False
        size = max(float(expected[layer].abs().max()) for layer in layers)
        return all(
            outputs[layer].shape == expected[layer].shape
            and torch.allclose(outputs[layer], expected[layer], atol=NEAR * size)
            for layer in layers
        )

    def _resume(self, inputs: ModelInputs, forward: Forward) -> tuple[Tensor, dict[int, Tensor]]:
        """Run each variant from the layer in which it differs."""
        intact, hidden_states = self._run_intact(inputs, forward)
        outputs = {}
        for layer in sorted(hidden_states):
            states = hidden_states.pop(layer)
            count = len(states)
            repeated = {name: _repeat(tensor, count) for name, tensor in inputs.items()}
            with self._resumed(layer, states.flatten(0, 1)):
                outputs[layer] = forward(repeated, count)
        return intact, outputs

    def _run_whole(self, inputs: ModelInputs, forward: Forward) -> tuple[Tensor, dict[int, Tensor]]:
        """Run each variant from the start, those of a layer as one batch."""
        outputs = {}
        for layer, sets in self.variants.items():
            repeated = {name: _repeat(tensor, len(sets)) for name, tensor in inputs.items()}
            replace = partial(self._replace, layer)
            with intercept_head_outputs(self.model.network, self.model.adapter, replace):
                outputs[layer] = forward(repeated, len(sets))
        return forward(inputs, 1)[0], outputs

    def _replace(self, layer: int, outputs: HeadOutputs) -> Tensor:
        """(variant * example, query, head, size) outputs with the heads of each variant off."""
        if outputs.layer != layer:
            return outputs.context
        context, sets = outputs.context.clone(), self.variants[layer]
        examples = len(context) // len(sets)
        for number, heads in enumerate(sets):
            rows = slice(number * examples, (number + 1) * examples)
            substitute = replacement_outputs(outputs, heads, self.how, self.means)
            part = substitute[rows] if len(substitute) > 1 else substitute
            context[rows, :, heads] = part.to(context.dtype)
        return context

    def _run_intact(
        self, inputs: ModelInputs, forward: Forward
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """What the task reads from the intact model, and by layer the outputs of the layer's
        variants: (variant, example, token, hidden).
        """
        hidden_states: dict[int, Tensor] = {}
        network, adapter = self.model.network, self.model.adapter
        counter = LayerCounter(network, adapter)

        def keep(outputs: HeadOutputs) -> Tensor:
            self._outputs = outputs
            return outputs.context

        def before_projection(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            return (self._add_variants(arguments[0]), *arguments[1:])

        def split_off(_: nn.Module, __: Any, output: Any) -> Any:
            hidden = _hidden(output)
            if counter.layer in self.variants:
                hidden_states[counter.layer], hidden = hidden[1:], hidden[0]
            self._as_block_output = partial(_like, output)
            return self._as_block_output(hidden)

        with ExitStack() as undo:
            undo.enter_context(intercept_head_outputs(network, adapter, keep))
            counter.count_layers(undo)
            for block in counter.blocks:
                projection = block.get_submodule(adapter.output_projection)
                undo.callback(projection.register_forward_pre_hook(before_projection).remove)
                undo.callback(block.register_forward_hook(split_off).remove)
            self._cut(counter, adapter.mlp_module, undo)
            return forward(inputs, 1)[0], hidden_states

    def _add_variants(self, hidden: Tensor) -> Tensor:
        """(1 + variant, example, query, hidden) the input of an output projection in the intact
        model, followed by that in the variants of this layer.
        """
        outputs = self._outputs
        if outputs is None:
            raise ModelError("this model runs an output projection before its attention")
        context = self._rows(outputs.layer, hidden.view(outputs.context.shape))
        if outputs.layer not in self.variants:
            return context.flatten(-2)
        sets = self.variants[outputs.layer]
        contexts = context.unsqueeze(0).repeat(len(sets) + 1, 1, 1, 1, 1)
        all_heads = torch.arange(context.shape[2], device=context.device)
        substitute = replacement_outputs(outputs, all_heads, self.how, self.means)
        if substitute.shape[1] > 1:  # not the same for all queries
            substitute = self._rows(outputs.layer, substitute)
        for number, heads in enumerate(sets, 1):
            contexts[number, :, :, heads] = substitute[:, :, heads].to(contexts.dtype)
        return contexts.flatten(-2)

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
        if not self.first_only or not path:
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
    if not model.adapter.mlp_module:
        return False  # its last layer cannot be cut
    counter = LayerCounter(model.network, model.adapter)

    def blank_others(_: nn.Module, __: Any, output: Any) -> Any:
        if counter.layer < model.layers - 1:
            return output
        hidden = _hidden(output).clone()
        hidden[:, 1:] = 0
        return _like(output, hidden)

    with exclusive(model.network), evaluating(model.whole), ExitStack() as undo:
        expected = forward(inputs, 1)
        counter.count_layers(undo)
        for block in counter.blocks:
            undo.callback(block.register_forward_hook(blank_others).remove)
        return torch.equal(expected, forward(inputs, 1))


def _hidden(output: Any) -> Tensor:
    """The hidden states in the output of a block."""
    hidden: Tensor = output[0] if isinstance(output, tuple | list) else output
    return hidden


def _like(output: Any, hidden: Tensor) -> Any:
    """The output of a block with other hidden states."""
    if isinstance(output, list):
        return [hidden, *output[1:]]
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def _repeat(tensor: Tensor, times: int) -> Tensor:
    return tensor.repeat(times, *[1] * (tensor.dim() - 1))
