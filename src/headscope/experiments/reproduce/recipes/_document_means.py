"""Means as the notebook of Clark et al. 2019 takes them (General_Analysis, cells 4 to 9).

Every document counts alike, whatever its length; the specials are among the queries; separators
that look at separators are divided by 2, however many there are; entropies are smoothed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.model.attention import Band, Entropy, Largest, Mass, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model.attention.blocks import Block

MASSES = ("[CLS]", "[SEP]", ". or ,", "[SEP] -> [SEP]", "other -> [SEP]")
"""Whom attention goes to: from all tokens, or from those before the arrow."""
NEAR = ("previous", "itself", "next")
ENTROPIES = ("entropy", "entropy from [CLS]")
SEPARATORS = 2.0
"""What the attention of separators to each other is divided by."""
SMOOTH = 1e-4
"""Share of every row that is spread evenly before its entropy is taken."""


@dataclass(eq=False)
class SmoothedEntropy(Entropy):
    """Entropy of rows of which a small share is spread evenly: (example, head, group).

    Attributes:
        count: (example,) tokens of each text.
    """

    count: Tensor | None = None

    def add(self, state: Tensor, block: Block) -> None:
        assert self.count is not None
        even = SMOOTH / self.count[block.examples, None, None, None]
        real = (
            torch.arange(block.weights.shape[-1], device=even.device)
            < self.count[block.examples, None, None, None]
        )
        rows = (1 - SMOOTH) * block.weights + even
        entropy = -(rows * rows.log()).masked_fill(~real, 0).sum(-1)
        block.put(state, entropy, self.over)


class DocumentMeans(Analysis):
    """Attention to special tokens, neighbours and entropy, as means over documents."""

    name = "document_means"

    def make_tallies(self) -> None:
        """One number of every document each."""
        self.mass = Mean(self.layout, len(MASSES), baseline=False)
        self.near = Mean(self.layout, len(NEAR), baseline=False)
        self.entropy = Mean(self.layout, len(ENTROPIES), baseline=False)
        self.largest = Mean(self.layout, baseline=False)
        self.even = Mean(self.layout, 2, baseline=False, heads=1)

    def ask(self, view: View) -> dict[str, Request]:
        """Rows that count so that every document counts alike."""
        queries, keys = view.queries, view.keys
        real, separator = queries.real.float(), queries.separator.float()
        size = real.sum(1, keepdim=True)
        share = real / size
        other = (real - separator) / (size - SEPARATORS)
        roles = torch.stack([keys.first, keys.separator, keys.stop], -1)
        rows = torch.stack([share, separator / SEPARATORS, other], -1)
        return {
            "mass": Mass(roles, over=rows),
            "near": Band(1, over=share),
            "entropy": SmoothedEntropy(
                over=torch.stack([share, queries.first.float()], -1), count=size[:, 0]
            ),
            "largest": Largest(keys.real, over=share),
        }

    def observe(self, seen: Seen) -> None:
        """Add every document once."""
        mass, queries = seen["mass"], seen.view.queries  # (example, head, rows, roles)
        ones = mass.new_ones(len(mass), 1, 1)
        parts = [
            mass[..., 0, 0],
            mass[..., 0, 1],
            mass[..., 0, 2],
            mass[..., 1, 1],
            mass[..., 2, 1],
        ]
        self.mass.add(seen, torch.stack(parts, -1), ones)
        self.near.add(seen, seen["near"][:, :, 0], ones)
        self.entropy.add(seen, seen["entropy"], ones)
        self.largest.add(seen, seen["largest"], ones)
        size = queries.real.sum(1).float()
        even = torch.stack([queries.separator.sum(1) / size, size.log()], -1)
        self.even.add(seen, even[:, None], ones)

    def statistics(self) -> Iterator[Statistic]:
        """Names as the recipes use them."""
        what = "mean over documents"
        yield Statistic("mass", self.mass.tally, None, Unit.SHARE, what, MASSES)
        yield Statistic("near", self.near.tally, None, Unit.SHARE, what, NEAR)
        yield Statistic("entropy", self.entropy.tally, None, Unit.NATS, what, ENTROPIES)
        yield Statistic("largest", self.largest.tally, None, Unit.SHARE, what)
        groups = ("share of [SEP]", "entropy")
        yield Statistic("even", self.even.tally, None, Unit.NATS, what, groups, per_layer=True)
