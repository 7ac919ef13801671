"""Memory for maps that is used again and again.

Fresh pages for every layer cost more than the sums that are made of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headscope._util.tensors import torch

if TYPE_CHECKING:
    from torch import Tensor


MARGIN = 16
"""Spare elements on both sides, so that the diagonals of a map can be seen without a copy."""


class Workspace:
    """Named pieces of memory; what is in one is valid until it is taken again."""

    def __init__(self, dtype: torch.dtype | None = None) -> None:
        self.dtype = dtype or torch.float32
        self.memory: dict[str, Tensor] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """A tensor of this shape with spare room on both sides (see `MARGIN`)."""
        need = math.prod(shape) + 2 * MARGIN
        if name not in self.memory or self.memory[name].numel() < need:
            # zeros: what lies around a map is multiplied by 0, and must be finite for that
            self.memory[name] = torch.zeros(need, dtype=self.dtype, device=like.device)
        return self.memory[name][MARGIN : need - MARGIN].view(shape)

    def take_clean(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """The same, filled with zeros whenever the shape is another than the last time.

        For callers that always fill the same places and need zeros in the others.
        """
        memory = self.take(name, shape, like)
        if self.shapes.get(name) != shape:
            memory.zero_()
            self.shapes[name] = shape
        return memory
