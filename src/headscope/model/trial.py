"""What runs while a model reads a batch: its attention, its layers, its linear maps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.model.attention import Site

CAPTURING = "_output_capturing_hooks_installed"
"""What transformers notes in a network that has hooks which return attentions."""


@dataclass
class Trial:
    """What was seen of a batch.

    Attributes:
        maps: for each attention, (example, head, query, key) weights.
        visible: for each, (example, query, key).
        own: the same maps as the model itself returns them; empty if it returns none.
        output: (example, token, hidden) of the last layer.
        sizes: for each time that heads had outputs, the size of a head.
        blocks: for each, the list of modules and the number in it of the layer that was running.
        projections: for each, the module whose input was the outputs of the heads, if any was.
    """

    sites: list[Site] = field(default_factory=list)
    maps: list[Tensor] = field(default_factory=list)
    visible: list[Tensor] = field(default_factory=list)
    own: list[Tensor] = field(default_factory=list)
    output: Tensor = field(default_factory=lambda: torch.empty(0))
    sizes: list[int] = field(default_factory=list)
    blocks: list[tuple[str, int] | None] = field(default_factory=list)
    projections: list[str | None] = field(default_factory=list)


@contextmanager
def no_hooks_left(network: nn.Module) -> Iterator[None]:
    """Remove the hooks that transformers leaves in a network that was asked for its attentions."""
    modules = list(network.modules())
    before = [set(module._forward_hooks) for module in modules]
    hooked = [bool(getattr(module, CAPTURING, False)) for module in modules]
    try:
        yield
    finally:
        for module, known, had in zip(modules, before, hooked, strict=True):
            for key in set(module._forward_hooks) - known:
                del module._forward_hooks[key]
            if getattr(module, CAPTURING, False) and not had:
                setattr(module, CAPTURING, False)


class Running:
    """Knows which member of a list of modules is running: the layer."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self._stack: list[tuple[str, int]] = []

    @property
    def block(self) -> tuple[str, int] | None:
        """The outermost list and the number of its member that is running."""
        return self._stack[0] if self._stack else None

    def install(self, undo: ExitStack, project: Any) -> None:
        """Follow what runs, and call `project` with every linear map that does."""
        for name, module in self.network.named_modules():
            if isinstance(module, nn.ModuleList):
                for number, member in enumerate(module):
                    self._follow(undo, member, (name, number))
            if isinstance(module, nn.Linear | Conv1D):
                hook = self._projecting(name, project)
                undo.callback(module.register_forward_pre_hook(hook).remove)

    def _follow(self, undo: ExitStack, member: nn.Module, place: tuple[str, int]) -> None:
        def enter(_: nn.Module, __: Any) -> None:
            self._stack.append(place)

        def leave(_: nn.Module, __: Any, ___: Any) -> None:
            self._stack.pop()

        undo.callback(member.register_forward_pre_hook(enter).remove)
        undo.callback(member.register_forward_hook(leave).remove)

    @staticmethod
    def _projecting(name: str, project: Any) -> Any:
        return lambda _, arguments: project(name, arguments)


def is_input(arguments: tuple[Any, ...], context: Tensor) -> bool:
    """Whether the first argument of a module is the outputs of heads, in whatever shape."""
    if not arguments or not isinstance(arguments[0], Tensor):
        return False
    given = arguments[0]
    if given.numel() != context.numel():
        return False
    orders = [given, given.transpose(0, 1)] if given.dim() == 3 else [given]  # some put time first
    return any(torch.equal(one.reshape(context.shape), context) for one in orders)
