"""Layer-wise relevance propagation through a model: the relevance of heads and residual paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import activations

from headscope.errors import ModelError
from headscope.model.adapters import Adapter
from headscope.model.attention import Kind
from headscope.model.defaults import EPSILON
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.relevance_rules import Ledger, RelevanceRules, pass_through
from headscope.model.hooks.tap import exclusive
from headscope.model.model import Model
from headscope.model.modes import evaluating
from headscope.model.two_stacks import stacks_of


@dataclass(frozen=True)
class LayerRelevance:
    """Where a score went on its way down to the input of a layer that attends.

    Attributes:
        layer: counted from 0.
        heads: (text, head) relevance of its heads.
        past: relevance that reaches the input of the layer past its heads: the residual path, and
            where a layer has them, gates, and a feed-forward network beside the heads.
        biases, epsilons: what these absorbed, above the heads and on the way past them.
        elsewhere: what does not come by here, in a model with an encoder and a decoder: of a layer
            of the encoder, what reaches the decoder's own input; of a layer of the decoder, what
            has left for the encoder above it.
    """

    layer: int
    heads: Tensor
    past: float
    biases: float
    epsilons: float
    elsewhere: float = 0.0


@dataclass(frozen=True)
class _Block:
    """The input of a layer.

    Attributes:
        hidden: (text, token, hidden) what enters.
        start: the first entry of the ledger in the layer.
        memory: in a decoder, (text, token, hidden) what this layer sees of the encoder.
        number: how many layers of a decoder have run before it.
    """

    hidden: Tensor
    start: int
    memory: Tensor | None = None
    number: int = 0


@dataclass(frozen=True)
class _Attention:
    """The tensors of one attention.

    Attributes:
        context: (text, token, head, size) outputs of its heads.
        kind: whose queries look at whose keys.
    """

    layer: int
    block: _Block
    context: Tensor
    kind: Kind

    @property
    def source(self) -> Tensor:
        """What its heads take their values from."""
        memory = self.block.memory if self.kind is Kind.CROSS else None
        return self.block.hidden if memory is None else memory


@dataclass
class Trace:
    """The tensors of a forward pass to which relevance can be propagated back.

    Attributes:
        ledger: relevance that biases and epsilons absorbed.
        inputs: (text, token, hidden) input of the first layer; of an encoder, then of a decoder.
        memories: what each layer of a decoder sees of the encoder.
        reached: relevance of the inputs, once a score was propagated back.
    """

    ledger: Ledger
    inputs: list[Tensor] = field(default_factory=list)
    memories: list[Tensor] = field(default_factory=list)
    reached: float = 0.0
    _attentions: list[_Attention] = field(default_factory=list)

    def add(self, attention: _Attention) -> None:
        """Take note of an attention."""
        self._attentions.append(attention)

    def relevance(self, score: Tensor) -> list[LayerRelevance]:
        """Propagate a score back to every layer that attends."""
        layers = [each.layer for each in self._attentions]
        if not self.inputs or len(set(layers)) < len(layers):
            raise ModelError("a layer attends several times, so its heads cannot be told apart")
        ends = [tensor for each in self._attentions for tensor in (each.block.hidden, each.context)]
        outer = [*self.inputs, *self.memories]
        try:
            found = torch.autograd.grad(score, [*outer, *ends], retain_graph=True)
            reached = [_times(*each) for each in zip(outer, found, strict=False)]
            self.reached = sum(reached[: len(self.inputs)])
            places = range(len(outer), len(found), 2)
            return [
                self._of_layer(each, reached, *found[place : place + 2])
                for each, place in zip(self._attentions, places, strict=True)
            ]
        except RuntimeError as error:
            raise ModelError(
                "relevance cannot be handed down through all operations of this family"
            ) from error

    def _of_layer(
        self, each: _Attention, reached: list[float], to_input: Tensor, to_heads: Tensor
    ) -> LayerRelevance:
        """What a layer got, from the gradients of its input and of the outputs of its heads.

        Args:
            reached: the relevance of the inputs and of the memories.
        """
        start = each.block.start
        biases, epsilons = self.ledger.absorbed_since(start)
        with self.ledger.aside():  # what comes by way of the heads, once more alone
            (by_heads,) = torch.autograd.grad(
                each.context, each.source, to_heads, retain_graph=True
            )
            below = self.ledger.absorbed_since(start)
        heads = (each.context * to_heads).sum((1, 3)).detach()
        if each.source is each.block.hidden:
            to_input = to_input - by_heads
        past = _times(each.block.hidden, to_input)
        absorbed = (biases - below[0], epsilons - below[1])
        elsewhere = self._elsewhere(each, reached)
        return LayerRelevance(each.layer, heads, past, *absorbed, elsewhere)

    def _elsewhere(self, each: _Attention, reached: list[float]) -> float:
        """What does not come by an attention (see `LayerRelevance`)."""
        if not self.memories:
            return 0.0
        own, memories = reached[1], reached[len(self.inputs) :]
        if each.kind is Kind.ENCODER:
            return own
        return sum(memories[each.block.number + (each.kind is Kind.CROSS) :])


def _times(tensor: Tensor, gradient: Tensor) -> float:
    """The relevance of a tensor."""
    return float((tensor.detach() * gradient).double().sum())


class _Tracing:
    """Follows a forward pass: the inputs of layers, and the outputs of their heads."""

    def __init__(self, model: Model, trace: Trace) -> None:
        self.model, self.trace = model, trace
        self.encoded: Tensor | None = None
        self._block: _Block | None = None

    def install(self, undo: ExitStack) -> None:
        """Follow the network until `undo` is closed."""
        network, adapter = self.model.network, self.model.adapter
        undo.enter_context(intercept_head_outputs(network, adapter, self.record))
        if not adapter.modules:
            for block in adapter.blocks(network):
                self._hook(undo, block, self.enter)
            return
        encoder, _ = stacks_of(network)
        undo.callback(encoder.register_forward_hook(self.keep_encoded).remove)
        for number, block in enumerate(_blocks(network, adapter, Kind.ENCODER)):
            self._hook(undo, block, partial(self.enter, first=number == 0))
        for number, block in enumerate(_blocks(network, adapter, Kind.DECODER)):
            self._hook(undo, block, partial(self.enter_decoder, number))

    @staticmethod
    def _hook(undo: ExitStack, block: nn.Module, enter: Any) -> None:
        undo.callback(block.register_forward_pre_hook(enter, with_kwargs=True).remove)

    def keep_encoded(self, _: nn.Module, __: Any, output: Any) -> None:
        """Take note of what an encoder gives."""
        self.encoded = output[0]

    def enter(
        self,
        _: nn.Module,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        *,
        first: bool | None = None,
    ) -> Any:
        """Take note of what enters a layer."""
        hidden = arguments[0] if arguments else options["hidden_states"]
        first = not self.trace.inputs if first is None else first
        if first:
            hidden = hidden.detach().requires_grad_()
            self.trace.inputs.append(hidden)
        hidden = hidden.view_as(hidden)  # what other layers do with it does not count here
        self._block = _Block(hidden, len(self.trace.ledger.biases))
        if arguments:
            return (hidden, *arguments[1:]), options
        return arguments, options | {"hidden_states": hidden}

    def enter_decoder(
        self, number: int, block: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Take note of what enters a layer of a decoder: its own text, and the encoder's."""
        arguments, options = self.enter(block, arguments, options, first=number == 0)
        given = [*arguments, *options.values()]
        if self.encoded is None or not any(each is self.encoded for each in given):
            raise ModelError("what its decoder sees of its encoder cannot be followed")
        memory, encoded = self.encoded.view_as(self.encoded), self.encoded
        self.trace.memories.append(memory)
        assert self._block is not None
        self._block = replace(self._block, memory=memory, number=number)

        def seen(value: Any) -> Any:
            return memory if value is encoded else value

        return tuple(map(seen, arguments)), {name: seen(each) for name, each in options.items()}

    def record(self, outputs: HeadOutputs) -> Tensor:
        """Take note of the outputs of heads."""
        if self._block is None:
            raise ModelError("heads are not inside a layer, so relevance cannot be followed")
        kind = Kind.ENCODER
        if self.model.adapter.modules:
            kind = self.model.numbered_sites[outputs.layer].kind
        self.trace.add(_Attention(outputs.layer, self._block, outputs.context, kind))
        return outputs.context


def _blocks(network: nn.Module, adapter: Adapter, kind: Kind) -> list[nn.Module]:
    """The layers of an encoder or of a decoder: members of a list that hold its attentions."""
    blocks: dict[nn.Module, None] = {}
    for path in adapter.modules:
        if not path.startswith(f"{kind}."):
            continue
        steps = path.split(".")
        for end in range(1, len(steps)):
            if isinstance(network.get_submodule(".".join(steps[:end])), nn.ModuleList):
                blocks[network.get_submodule(".".join(steps[: end + 1]))] = None
                break
    return list(blocks)


@contextmanager
def propagate_relevance(model: Model, epsilon: float = EPSILON) -> Iterator[Trace]:
    """Run a model under the rules of relevance for the duration of a `with`.

    The trace is filled by the forward pass inside the `with`.

    Args:
        epsilon: stabiliser of the epsilon rule.
    """
    rules = RelevanceRules(epsilon)
    trace = Trace(rules.ledger)
    if model.missing:
        kinds = " and ".join(model.missing)
        raise ModelError(f"the {kinds} attention of {model.name} cannot be followed")
    with exclusive(model.network), evaluating(model.whole), ExitStack() as undo:
        for parameter in model.whole.parameters():
            undo.callback(parameter.requires_grad_, parameter.requires_grad)
            parameter.requires_grad_(False)
        _Tracing(model, trace).install(undo)
        for module in model.whole.modules():
            if type(module).__module__ == activations.__name__:
                undo.callback(module.register_forward_hook(_pass_through_activation).remove)
        undo.enter_context(rules)
        undo.enter_context(torch.enable_grad())
        yield trace


def _pass_through_activation(_: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    return pass_through(arguments[0], output)
