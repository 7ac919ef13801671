"""Counts the softmaxes of the modules of a network, to tell which of them attend, and how often."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode

from headscope.model.hooks.softmax_route import SOFTMAX


class SoftmaxCounter(TorchFunctionMode):
    """Counts the softmaxes of every module that runs.

    Attributes:
        running: the paths of the modules that are running, the innermost last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.running: list[str] = []
        self.counts: Counter[str] = Counter()

    def install(self, network: nn.Module, undo: ExitStack) -> None:
        """Follow what runs until `undo` is closed."""
        for name, module in network.named_modules():
            enter, leave = _following(self.running, name)
            undo.callback(module.register_forward_pre_hook(enter).remove)
            undo.callback(module.register_forward_hook(leave).remove)
        undo.enter_context(self)

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        if function in SOFTMAX and self.running:
            self.counts[self.running[-1]] += 1
        return function(*arguments, **(options or {}))


def _following(running: list[str], name: str) -> tuple[Any, Any]:
    """Hooks that keep a list of the modules that are running."""

    def enter(*_: Any) -> None:
        running.append(name)

    def leave(*_: Any) -> None:
        running.pop()

    return enter, leave
