"""What the shape of a map looks like, in numbers that do not depend on its length.

Everything is measured on *ink*, the square root of a weight: what an annotator saw. The squares of
a row's ink sum to 1, whatever the length. Rows of specials do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headscope._util.tensors import torch
from headscope.analyses._shapes.tokens import NEAR, Tokens
from headscope.model.attention.layer import STRIDE, band
from headscope.model.hooks.workspace import Workspace

if TYPE_CHECKING:
    from torch import Tensor

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


class Above(NamedTuple):
    """In what share of the rows a ratio, (example, head, query), is above a floor.

    What is within a tenth of the floor counts in part, so that rounding changes nothing.
    """

    ratio: Tensor
    floor: float


Measures: TypeAlias = "Iterator[tuple[str, Tensor | Above]]"
"""Names and what is measured: (example, head), or (example, head, query), whose mean counts."""


class Ink:
    """The ink of some maps, and what is measured on it, in the order of `features`."""

    def __init__(self, weights: Tensor, tokens: Tokens, space: Workspace) -> None:
        examples, heads, length, _ = weights.shape
        self.tokens, self.space = tokens, space
        self.width = (length // STRIDE + 1) * STRIDE  # at least one column is empty
        shape = (examples, heads, length, self.width)
        self.ink = space.take_clean("ink", shape, weights)  # nothing writes to the empty columns
        roots = space.take("roots", (examples, heads, length, length), weights)
        self.ink[..., :length] = torch.sqrt(weights, out=roots)
        example, row = tokens.padding
        maps = example * heads + torch.arange(heads, device=row.device)[:, None]
        blank = (maps * length + row).flatten()
        self.ink.view(-1, self.width).index_fill_(0, blank, 0)  # what padding looks at
        self.scratch = space.take("scratch ink", shape, weights)
        self.largest = self.ink.amax(-1).clamp_min(TINY)  # (example, head, query)
        self.dark = tokens.mean(self.largest).clamp_min(FAINTEST)  # (example, head)
        self.dark_row = self.dark.unsqueeze(-1)
        self._find_columns()
        self._sum_rows()

    def _find_columns(self) -> None:
        """Find the columns of each sentence, and what its rows have of them."""
        tokens, ink = self.tokens, self.ink
        self.means = tokens.mean_sentences.unsqueeze(1) @ ink  # (example, head, sentence, key)
        values, places = self.means.topk(PROFILE, -1)
        self.whole, self.profile = self.means[:, :, 0], values[:, :, 0]  # (example, head, key)
        if tokens.paired:
            self.whole = (tokens.parts.unsqueeze(-1) * self.means).sum(2)
            self.profile = self.whole.topk(PROFILE, -1).values
        enough = (values[..., :COLUMNS] >= COUNTS * values[..., :1]).float()
        self.place = self._of_row(places[..., :COLUMNS]).expand(*ink.shape[:3], -1)
        column = ink.gather(-1, self.place)  # (example, head, query, column)
        counting = column * self._of_row(enough)
        self.uncounted = column - counting
        columns = counting.movedim(-1, 0).contiguous()  # a column after the other: faster by far
        self.first, self.most = columns[0], columns.amax(0)
        self.column_weight = (columns**2).sum(0)

    def _sum_rows(self) -> None:
        """Sum the ink of each row, by sentence."""
        tokens, ink = self.tokens, self.ink
        keys = torch.nn.functional.pad(tokens.sentences, (0, self.width - ink.shape[2]))
        sums = torch.bmm(keys, ink.flatten(1, 2).mT)  # few rows on the left: much the faster way
        self.sums = sums.view(*keys.shape[:2], *ink.shape[1:3])  # (example, sentence, head, query)
        self.total = self.sums.sum(1)
        text = keys.sum(1)[:, None].expand(*self.first.shape[:2], -1)
        is_text = text.gather(-1, self.place[..., 0])  # of an empty sentence: any place
        self.rest = (self.total - self.first * is_text).clamp_min(0) / tokens.size

    def _of_row(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """What each row's sentence has: (example, head, query, value) from (example, head,
        sentence, value). As it is, for all rows, where there is one sentence.
        """
        if not self.tokens.paired:
            return values
        second = self.tokens.second[:, None, :, None]
        return torch.where(second, values[:, :, 1:], values[:, :, :1], out=out)

    def columns(self) -> Measures:
        """Are there columns, one or more a sentence?"""
        tokens = self.tokens
        for name, ink in (("column", self.first), ("columns", self.most)):
            yield name, ink / self.largest
            yield from self._above_known(name, ink)
        yield "column_ink", self.first / self.dark_row
        steps = self.first.diff(dim=-1, append=self.first[..., -1:]).abs()
        yield "column_steps", steps * tokens.followed / self.dark_row
        many = (self.whole >= COUNTS * self.profile[..., :1]).sum(-1)
        yield "many_columns", many / tokens.size[..., 0]
        yield "rows_alike", (self.whole**2).sum(-1)
        yield "rows_alike_in_sentence", ((self.means**2).sum(-1) * tokens.parts).sum(-1)
        yield "column_weight", self.column_weight
        for place, value in enumerate((self.profile / self.dark_row).unbind(-1)):
            yield f"profile_{place}", value
        shares = self._columns_above(0.5 * self.dark_row)
        for place, value in enumerate(shares.topk(COLUMNS, -1).values.unbind(-1)):
            yield f"dark_{place}", value
        yield "dark_all", shares.sum(-1) / tokens.size[..., 0]

    def _above(self, name: str, ink: Tensor, base: Tensor, floors: dict[str, float]) -> Measures:
        """In what share of the rows there is more ink than some multiples of a base."""
        ratio = ink / (base + EDGE)
        for floor, value in floors.items():
            yield f"{name}_{floor}", Above(ratio, value)

    def _above_known(self, name: str, ink: Tensor) -> Measures:
        """The same for parts of the darkest ink, of the row or on average, and of the rest."""
        yield from self._above(name, ink, self.largest, {"half": 0.5, "most": 0.8})
        yield from self._above(name, ink, self.dark_row, {"dark": 0.5})
        yield from self._above(name, ink, self.rest, {"2": 2, "3": 3, "5": 5})

    def _columns_above(self, floor: Tensor) -> Tensor:
        """(example, head, key) in what share of the rows a column has more ink than the floor."""
        torch.ge(self.ink, floor.unsqueeze(-1), out=self.scratch)
        return (self.tokens.mean_rows[:, None, None] @ self.scratch).squeeze(2)

    def blocks(self) -> Measures:
        """Do sentences look at themselves?"""
        tokens = self.tokens
        pair = tokens.second.any(-1)[:, None].float()
        level = self.sums / tokens.many.unsqueeze(-1)  # (example, sentence, head, query)
        own, other = level[:, 0], torch.zeros_like(level[:, 0])
        if tokens.paired:
            second = tokens.second[:, None]
            own, other = (torch.where(second, level[:, 1 - one], level[:, one]) for one in (0, 1))
        contrast = ((own + 0.01) / (other + 0.01)).log() * pair.unsqueeze(-1)
        each = torch.bmm(contrast, tokens.mean_sentences.mT)  # (example, head, sentence)
        yield "pair", pair.expand_as(self.dark)
        yield "block", each.amin(-1) * pair
        yield "block_most", each.amax(-1) * pair
        yield from self._above("block", contrast, pair.unsqueeze(-1), {"rows": BLOCK})
        yield "filled", own / self.dark_row
        yield "crossed", other * (pair / self.dark).unsqueeze(-1)
        floors = {"1.5": 1.5, "2.5": 2.5, "4": 4}
        yield from self._above("column_over_block", self.first, own, floors)
        yield "columns_over_block", tokens.mean(self.most) / (tokens.mean(own) + 0.02)

    def level(self) -> Measures:
        """How pale or dark all of it is."""
        tokens = self.tokens
        yield "largest", self.largest
        yield "largest_of_all", (self.largest * tokens.is_text).amax(-1)
        yield "even", self.total / tokens.rows.sqrt().unsqueeze(-1)
        yield "length", tokens.size[..., 0].log().expand_as(self.dark)

    def leftover(self) -> Measures:
        """What is left of the largest ink without what all rows of a sentence have?"""
        common = self._of_row(self.means, out=self.scratch)
        left = torch.sub(self.ink, common, out=self.scratch).amax(-1)
        yield "left", left / self.largest
        yield from self._above("left", left, self.largest, {"half": 0.5, "most": 0.75})
        yield from self._above("left", left, self.dark_row, {"dark": 0.5})

    def diagonals(self) -> Measures:
        """Is there a line along the diagonal, columns apart? Wipes out the columns."""
        tokens = self.tokens
        self.ink.scatter_(-1, self.place, self.uncounted)
        offsets = band(self.ink, NEAR).movedim(-1, 1)  # (example, offset, head, query)
        near, passed = (
            self.space.take(name, tuple(offsets.shape), self.ink) for name in ("near", "passed")
        )
        torch.mul(offsets, tokens.inside, out=near)
        self.near, self.weight = near.amax(1), (near**2).sum(1)
        self.lines = tokens.means(near)  # (example, offset, head)
        torch.ge(near, (2 * self.rest).clamp_min(0.1).unsqueeze(1), out=passed)
        each = tokens.means(near.div_(self.largest.unsqueeze(1)))  # (example, offset, head)
        yield "line", each.amax(1)
        yield "line_2", tokens.means(passed).amax(1)
        away = torch.maximum(each, each.flip(1))[:, NEAR:].unbind(1)
        yield from zip(("itself", "beside", "two_away", "three_away"), away, strict=True)
        yield "near", self.near / self.largest
        yield from self._above_known("near", self.near)
        yield "near_weight", self.weight

    def others(self) -> Measures:
        """What is as dark and belongs to neither columns nor diagonal? Uses up the ink."""
        band(self.ink, NEAR).mul_(self.tokens.outside)
        darkest = self.ink.amax(-1)
        explained = torch.maximum(self.most, self.near).clamp_min(TINY)
        yield "else", darkest / self.largest
        yield from self._above("else", darkest, explained, {"1.0": 1.0, "0.8": 0.8, "0.6": 0.6})
        yield from self._above("else", darkest, self.most, {"to_column": 0.8})
        yield from self._above("else", darkest, self.near, {"to_line": 0.8})
        yield from self._above("else", darkest, self.dark_row, {"dark": 0.5})
        yield "else_less", (darkest - explained) / self.dark_row
        yield "else_weight", (1 - self.column_weight - self.weight).clamp_min(0)

    def shares(self) -> Measures:
        """Which share of the weight lies in columns, and which on lines along the diagonal?"""
        each = self._over_even(self.means).sum(-1)  # (example, head, sentence)
        yield "column_share", (each * self.tokens.parts).sum(-1)
        yield "column_share_of_all", self._over_even(self.whole).sum(-1)
        yield "column_share_first", self._over_even(self.profile).amax(-1)
        lines = self._over_even(self.lines)
        yield "line_share", lines.sum(1)
        yield "line_share_first", lines.amax(1)

    def _over_even(self, ink: Tensor) -> Tensor:
        """The weight in a place of which all rows have this mean ink, above that of an even map.

        The square of a mean of roots is below the mean weight, the more so the more rows differ:
        weight that few rows have in a place hardly counts.
        """
        even = (1 / self.tokens.size).view(-1, *[1] * (ink.dim() - 1))
        return (ink**2 - even).clamp_min(0)


def features(weights: Tensor, tokens: Tokens, space: Workspace) -> dict[str, Tensor]:
    """(example, head) each, for maps (example, head, query, key); rows of real queries sum to 1."""
    ink = Ink(weights, tokens, space)
    parts = (
        ink.columns,
        ink.blocks,
        ink.level,
        ink.leftover,
        ink.diagonals,
        ink.others,
        ink.shares,
    )
    measures = {name: measured for part in parts for name, measured in part()}
    above = {name: value for name, value in measures.items() if isinstance(value, Above)}
    plain = {name: value for name, value in measures.items() if isinstance(value, torch.Tensor)}
    rows = {name: value for name, value in plain.items() if value.dim() == 3}
    stacked = torch.stack([*(share.ratio for share in above.values()), *rows.values()], 1)
    floors = stacked.new_tensor([share.floor for share in above.values()]).view(-1, 1, 1)
    stacked[:, : len(above)].mul_(5 / floors).sub_(4.5).clamp_(0, 1)  # 0.5 at the floor
    means = dict(zip([*above, *rows], tokens.means(stacked).unbind(1), strict=True))
    return {name: means[name] if name in means else plain[name] for name in measures}
