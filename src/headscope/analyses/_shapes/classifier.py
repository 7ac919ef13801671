"""The classifier of shapes: which of five a map of attention has, learned from labelled maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from headscope._util.tensors import torch
from headscope.analyses._shapes.counterparts import counterpart_features
from headscope.analyses._shapes.features import features
from headscope.analyses._shapes.tokens import Tokens
from headscope.errors import HeadscopeError
from headscope.model.hooks.workspace import Workspace

if TYPE_CHECKING:
    from torch import Tensor

SHAPES = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
WEIGHTS = "patterns.safetensors"
"""Made by `python -m labelling.train`."""


class Classifier:
    """Some small networks from features to classes, whose probabilities are averaged. Networks may
    tell more answers apart than there are classes (earlier weights did): `names` sums these.
    """

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors
        self._parts: dict[str, dict[str, Tensor]] = {}

    def probabilities(self, measures: dict[str, Tensor], part: str = "shape") -> Tensor:
        """(..., class) from the features of maps, (...,) each, by name."""
        kept = self.part(part)
        given = torch.stack(list(measures.values())).flatten(1)  # (feature, map)
        given.sub_(kept["mean"]).div_(kept["scale"]).clamp_(-4, 4)
        inner = torch.addmm(kept["in bias"], kept["in"], given).relu_()
        inner = inner.view(len(kept["out"]), -1, inner.shape[-1])  # (network, hidden, map)
        scores = torch.baddbmm(kept["out bias"], kept["out"], inner)  # (network, answer, map)
        shape = next(iter(measures.values())).shape
        return (torch.softmax(scores, 1).mean(0).T @ kept["names"]).view(*shape, -1)

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors of one question, maps across; the first matrices below each other."""
        if name not in self._parts:
            kept = {
                key.removeprefix(f"{name} "): one
                for key, one in self.tensors.items()
                if key.startswith(f"{name} ")
            }
            self._parts[name] = {
                "mean": kept["mean"].unsqueeze(1),
                "scale": kept["scale"].unsqueeze(1),
                "in": kept["in"].mT.flatten(0, 1).contiguous(),
                "in bias": kept["in bias"].view(-1, 1),
                "out": kept["out"].mT.contiguous(),
                "out bias": kept["out bias"].mT,
                "names": kept["names"],
            }
        return self._parts[name]


@cache
def classifier() -> Classifier:
    """The classifier that comes with the package."""
    from safetensors.torch import load as read_tensors

    return Classifier(
        read_tensors(files("headscope.analyses._shapes").joinpath(WEIGHTS).read_bytes())
    )


@dataclass(frozen=True)
class Shape:
    """What one map looks like.

    Attributes:
        probabilities: of the five shapes.
        matching: how likely there are lines that join counterparts in the two sentences; None where
            that cannot be told, because there is one sentence or the tokens are not known.
    """

    probabilities: dict[str, float]
    matching: float | None = None

    @property
    def name(self) -> str:
        """The likeliest shape."""
        return self.likeliest(1)[0]

    def likeliest(self, many: int) -> list[str]:
        """Some shapes, the likeliest first."""
        return sorted(self.probabilities, key=lambda name: -self.probabilities[name])[:many]

    def __repr__(self) -> str:
        return f"{self.name} ({self.probabilities[self.name]:.0%})"


def classify(
    weights: ArrayLike | Tensor,
    sentence: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
) -> Shape:
    """Tell the shape of one map.

    Args:
        weights: (query, key); rows sum to 1.
        sentence: (token,) 0 or 1 for the first or second text of a pair, -1 for specials; None:
            all tokens are words of one text.
        tokens: (token,) ids of the tokens: equal ids are counterparts.

    >>> import numpy as np
    >>> column = np.full((12, 12), 0.02)
    >>> column[:, 3] = 1 - 11 * 0.02
    >>> classify(column).name
    'vertical'
    """
    given = torch.as_tensor(np.asarray(weights), dtype=torch.float32)
    size = len(given)
    if given.shape != (size, size) or size < 3:
        raise HeadscopeError(f"a map is square, of 3 tokens or more, not {tuple(given.shape)}")
    if float((given.sum(-1) - 1).abs().max()) > 0.01:
        raise HeadscopeError("the rows of a map sum to 1")
    number = torch.zeros(1, size, dtype=torch.long)
    if sentence is not None:
        number = torch.as_tensor(sentence)[None]
    text = Tokens(torch.ones_like(number, dtype=torch.bool), number >= 0, number == 1)
    space = Workspace()
    measures = features(given[None, None], text, space)
    shares = classifier().probabilities(measures)[0, 0].tolist()
    matching = None
    if tokens is not None and bool(text.second.any()):
        same = torch.as_tensor(tokens)[None]
        counterparts = counterpart_features(given[None, None], text, same, space)
        matching = float(classifier().probabilities(counterparts, "matching")[0, 0, 1])
    return Shape(dict(zip(SHAPES, shares, strict=True)), matching)
