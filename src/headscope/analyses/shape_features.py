"""What the shape of a map looks like, in numbers that do not depend on its length.

Everything is measured on *ink*, the square root of a weight: what an annotator saw. The squares of
a row's ink sum to 1, whatever the length. Rows of specials do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.model.attention import STRIDE, band, in_band
from headscope.model.workspace import Workspace

NEAR = 3
"""Offsets that make a diagonal."""
COLUMNS = 3
"""Columns of each sentence that are looked at."""
COUNTS = 0.6
"""A further column counts if it has so much of the ink of the first."""
BLOCK = 0.4
"""A row looks at its own sentence where the logarithm of its ink there against the other is so."""
FAINTEST = 0.15**0.5
"""A map whose darkest ink is below this is pale."""
TINY = 1e-6
EDGE = 1e-4
"""Ink that nobody sees."""
PROFILE = 6
"""Columns of all rows whose ink is told, the darkest first."""


@dataclass(frozen=True)
class Tokens:
    """What is known of the tokens of some texts.

    Attributes:
        real: (example, token) not padding.
        text: (example, token) tokens of the text: real and not special.
        second: (example, token) those of the second sentence of a pair.
    """

    real: Tensor
    text: Tensor
    second: Tensor

    @cached_property
    def sentences(self) -> Tensor:
        """(example, 2, token) the tokens of the two sentences, 0 or 1."""
        return torch.stack([self.text & ~self.second, self.text & self.second], 1).float()

    @cached_property
    def rows(self) -> Tensor:
        """(example, 1) how many tokens the text has."""
        return self.text.sum(-1, keepdim=True).clamp_min(1).float()

    @cached_property
    def size(self) -> Tensor:
        """(example, 1, 1) how many tokens there are, specials included."""
        return self.real.sum(-1)[:, None, None].float()

    @cached_property
    def parts(self) -> Tensor:
        """(example, 1, 2) how much of the text each sentence is."""
        return (self.sentences.sum(-1) / self.rows)[:, None]

    @cached_property
    def inside(self) -> Tensor:
        """(example, 1, query, offset) 1 where there is a token at this offset, up to `NEAR`."""
        return in_band(self.real, NEAR)[:, None].float()

    @cached_property
    def outside(self) -> Tensor:
        """(example, 1, query, offset) 1 where there is none."""
        return 1 - self.inside

    @cached_property
    def followed(self) -> Tensor:
        """(example, 1, query) 1 where another token follows."""
        return self.real.roll(-1, 1)[:, None].float()

    @cached_property
    def is_text(self) -> Tensor:
        """(example, 1, token) 1 for tokens of the text."""
        return self.text[:, None].float()

    @cached_property
    def mean_rows(self) -> Tensor:
        """(example, token) what a row counts in a mean over the text's rows."""
        return self.text / self.rows

    @cached_property
    def paired(self) -> bool:
        """Whether any of the texts is a pair."""
        return bool(self.second.any())

    def mean(self, values: Tensor) -> Tensor:
        """(example, head) of (example, head, query), over the text's rows."""
        return torch.bmm(values, self.mean_rows.unsqueeze(-1)).squeeze(-1)

    def means(self, values: Tensor) -> tuple[Tensor, ...]:
        """The same of many at once, (example, value, head, query), which is much faster."""
        found = torch.bmm(self.mean_rows.unsqueeze(1), values.flatten(1, 2).mT)
        return found.view(values.shape[:3]).unbind(1)


class Ink:
    """The ink of some maps, and what is measured on it, in the order of `features`.

    Measures are (example, head), or (example, head, query): these are averaged over rows.
    """

    def __init__(self, weights: Tensor, tokens: Tokens, space: Workspace) -> None:
        examples, heads, length, _ = weights.shape
        self.tokens, self.length = tokens, length
        self.width = (length // STRIDE + 1) * STRIDE  # at least one column is empty
        shape = (examples, heads, length, self.width)
        self.ink = space.take("ink", shape, weights)
        roots = space.take("roots", (examples, heads, length, length), weights)
        self.ink[..., :length] = torch.sqrt(weights, out=roots)
        self.ink[..., length:] = 0
        for place, size in enumerate(tokens.real.sum(1).tolist()):
            if size < length:
                self.ink[place, :, size:] = 0  # what padding looks at
        self.scratch = space.take("scratch ink", shape, weights)
        self.largest = self.ink.amax(-1).clamp_min(TINY)  # (example, head, query)
        self.dark = tokens.mean(self.largest).clamp_min(FAINTEST)  # (example, head)
        self.dark_row = self.dark.unsqueeze(-1)
        self._look()

    def _look(self) -> None:
        """Find the columns, and the sums of rows."""
        tokens, ink = self.tokens, self.ink
        counts = tokens.sentences.sum(-1, keepdim=True).clamp_min(1)
        rows = (tokens.sentences / counts).unsqueeze(1)
        self.means = rows @ ink  # (example, head, sentence, key)
        best = (self.means if tokens.paired else self.means[:, :, :1]).topk(COLUMNS, -1)
        enough = best.values >= COUNTS * best.values[..., :1]
        self.place, self.counted = best.indices[:, :, :1], enough[:, :, :1]
        if tokens.paired:
            rows = tokens.second[:, None, :, None]
            self.place = torch.where(rows, best.indices[:, :, 1:], self.place)
            self.counted = torch.where(rows, enough[:, :, 1:], self.counted)
        self.place = self.place.expand(*ink.shape[:3], -1)
        self.counted = self.counted.expand(*ink.shape[:3], -1)
        self.column = ink.gather(-1, self.place)  # (example, head, query, column)
        counting = self.column * self.counted
        self.first, self.most = self.column[..., 0], counting.amax(-1)
        self.column_weight = torch.linalg.vecdot(counting, counting)
        keys = torch.nn.functional.pad(tokens.sentences, (0, self.width - self.length))
        sums = torch.bmm(keys, ink.flatten(1, 2).mT)  # few rows on the left: much the faster way
        self.sums = sums.view(len(ink), 2, *ink.shape[1:3]).movedim(1, -1)
        self.total = self.sums[..., 0] + self.sums[..., 1]
        text = keys.sum(1)[:, None].expand(*self.first.shape[:2], -1)
        is_text = text.gather(-1, self.place[..., 0])  # of an empty sentence: any place
        self.rest = (self.total - self.first * is_text).clamp_min(0) / tokens.size

    def columns(self) -> Iterator[tuple[str, Tensor]]:
        """Are there columns, one or more a sentence?"""
        tokens = self.tokens
        whole = (tokens.parts.unsqueeze(-1) * self.means).sum(2)  # (example, head, key)
        for name, ink in (("column", self.first), ("columns", self.most)):
            yield name, ink / self.largest
            yield from self._above_known(name, ink)
        yield "column_ink", self.first / self.dark_row
        steps = self.first.diff(dim=-1, append=self.first[..., -1:]).abs()
        yield "column_steps", steps * tokens.followed / self.dark_row
        many = (whole >= COUNTS * whole.amax(-1, keepdim=True)).sum(-1)
        yield "many_columns", many / tokens.size[..., 0]
        yield "rows_alike", (whole**2).sum(-1)
        yield "rows_alike_in_sentence", ((self.means**2).sum(-1) * tokens.parts).sum(-1)
        yield "column_weight", self.column_weight
        for place, value in enumerate(_highest(whole, PROFILE).unbind(-1)):
            yield f"profile_{place}", value / self.dark
        shares = self._columns_above(0.5 * self.dark_row)
        for place, value in enumerate(_highest(shares, COLUMNS).unbind(-1)):
            yield f"dark_{place}", value
        yield "dark_all", shares.sum(-1) / tokens.size[..., 0]

    def _above(
        self, name: str, ink: Tensor, base: Tensor, floors: dict[str, float]
    ) -> Iterator[tuple[str, Tensor]]:
        """In what share of the rows there is more ink than some multiples of a base.

        What is within a tenth of a floor counts in part, so that rounding changes nothing.
        """
        parts = ink.new_tensor([5 / floor for floor in floors.values()]).view(-1, 1, 1)
        above = (ink / (base + EDGE)).unsqueeze(1) * parts  # 5 at the floor
        names = [f"{name}_{floor}" for floor in floors]
        yield from zip(names, self.tokens.means(above.sub_(4.5).clamp_(0, 1)), strict=True)

    def _above_known(self, name: str, ink: Tensor) -> Iterator[tuple[str, Tensor]]:
        """The same for parts of the darkest ink, of the row or on average, and of the rest."""
        yield from self._above(name, ink, self.largest, {"half": 0.5, "most": 0.8})
        yield from self._above(name, ink, self.dark_row, {"dark": 0.5})
        yield from self._above(name, ink, self.rest, {"2": 2, "3": 3, "5": 5})

    def _columns_above(self, floor: Tensor) -> Tensor:
        """(example, head, key) in what share of the rows a column has more ink than the floor."""
        torch.ge(self.ink, floor.unsqueeze(-1), out=self.scratch)
        return (self.tokens.mean_rows[:, None, None] @ self.scratch).squeeze(2)

    def blocks(self) -> Iterator[tuple[str, Tensor]]:
        """Do sentences look at themselves?"""
        tokens = self.tokens
        many = tokens.sentences.sum(-1)[:, None, None]  # (example, 1, 1, sentence)
        second = tokens.second[:, None]
        pair = tokens.second.any(-1)[:, None].float()
        level = self.sums / many.clamp_min(1)
        own = torch.where(second, level[..., 1], level[..., 0])
        other = torch.where(second, level[..., 0], level[..., 1])
        contrast = ((own + 0.01) / (other + 0.01)).log() * pair.unsqueeze(-1)
        each = (contrast.unsqueeze(2) * tokens.sentences[:, None]).sum(-1) / many[:, 0].clamp_min(1)
        yield "pair", pair.expand_as(self.dark)
        yield "block", each.amin(-1) * pair
        yield "block_most", each.amax(-1) * pair
        yield from self._above("block", contrast, pair.unsqueeze(-1), {"rows": BLOCK})
        yield "filled", own / self.dark_row
        yield "crossed", other * (pair / self.dark).unsqueeze(-1)
        floors = {"1.5": 1.5, "2.5": 2.5, "4": 4}
        yield from self._above("column_over_block", self.first, own, floors)
        yield "columns_over_block", tokens.mean(self.most) / (tokens.mean(own) + 0.02)

    def level(self) -> Iterator[tuple[str, Tensor]]:
        """How pale or dark all of it is."""
        tokens = self.tokens
        yield "largest", self.largest
        yield "largest_of_all", (self.largest * tokens.is_text).amax(-1)
        yield "even", self.total / tokens.rows.sqrt().unsqueeze(-1)
        yield "length", tokens.size[..., 0].log().expand_as(self.dark)

    def leftover(self) -> Iterator[tuple[str, Tensor]]:
        """What is left of the largest ink without what all rows of a sentence have?"""
        tokens = self.tokens
        torch.sub(self.ink, self.means[:, :, :1], out=self.scratch)
        for place in tokens.second.any(1).nonzero()[:, 0].tolist():
            rows = tokens.second[place]
            self.scratch[place, :, rows] = self.ink[place, :, rows] - self.means[place, :, 1:]
        left = self.scratch.amax(-1)
        yield "left", left / self.largest
        yield from self._above("left", left, self.largest, {"half": 0.5, "most": 0.75})
        yield from self._above("left", left, self.dark_row, {"dark": 0.5})

    def diagonals(self) -> Iterator[tuple[str, Tensor]]:
        """Is there a line along the diagonal, columns apart? Wipes out the columns."""
        tokens = self.tokens
        for column in range(self.place.shape[-1]):
            kept = self.column[..., column] * ~self.counted[..., column]
            self.ink.scatter_(-1, self.place[..., column, None], kept.unsqueeze(-1))
        near = band(self.ink, NEAR) * tokens.inside
        self.near = near.amax(-1)
        self.weight = torch.linalg.vecdot(near, near)
        rows = tokens.mean_rows[:, None, None]
        weights = rows / self.largest.unsqueeze(2)  # (example, head, 1, query)
        each = (weights @ near).squeeze(2)  # (example, head, offset)
        passed = (near >= (2 * self.rest).clamp_min(0.1).unsqueeze(-1)).float()
        yield "line", each.amax(-1)
        yield "line_2", (rows @ passed).squeeze(2).amax(-1)
        yield "itself", each[..., NEAR]
        yield "beside", torch.maximum(each[..., NEAR - 1], each[..., NEAR + 1])
        yield "two_away", torch.maximum(each[..., NEAR - 2], each[..., NEAR + 2])
        yield "three_away", torch.maximum(each[..., 0], each[..., -1])
        yield "near", self.near / self.largest
        yield from self._above_known("near", self.near)
        yield "near_weight", self.weight

    def others(self) -> Iterator[tuple[str, Tensor]]:
        """What is as dark and belongs to neither columns nor diagonal? Uses up the ink."""
        tokens = self.tokens
        band(self.ink, NEAR).mul_(tokens.outside)
        found = self.ink.amax(-1)
        known = torch.maximum(self.most, self.near).clamp_min(TINY)
        yield "else", found / self.largest
        yield from self._above("else", found, known, {"1.0": 1.0, "0.8": 0.8, "0.6": 0.6})
        yield from self._above("else", found, self.most, {"to_column": 0.8})
        yield from self._above("else", found, self.near, {"to_line": 0.8})
        yield from self._above("else", found, self.dark_row, {"dark": 0.5})
        yield "else_less", (found - known) / self.dark_row
        yield "else_weight", (1 - self.column_weight - self.weight).clamp_min(0)


def _highest(values: Tensor, many: int) -> Tensor:
    """(..., many) the largest in order; 0 where there are fewer."""
    found = values.topk(min(many, values.shape[-1]), -1).values
    return torch.nn.functional.pad(found, (0, many - found.shape[-1]))


def features(weights: Tensor, tokens: Tokens, space: Workspace) -> dict[str, Tensor]:
    """(example, head) each, for maps (example, head, query, key); rows of real queries sum to 1."""
    ink = Ink(weights, tokens, space)
    parts = (
        ink.columns, ink.blocks, ink.level, ink.leftover, ink.diagonals, ink.others,
    )  # fmt: skip
    found = {name: values for part in parts for name, values in part()}
    rows = {name: values for name, values in found.items() if values.dim() == 3}
    return found | dict(zip(rows, tokens.means(torch.stack(list(rows.values()), 1)), strict=True))
