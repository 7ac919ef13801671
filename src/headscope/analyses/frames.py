"""Semantic frames: heads that join frame elements to their target (Kovaleva et al. 2019, 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Arc, Scene, analysis, option
from headscope.corpus import Annotation, Frame, Pieces, stable_hash
from headscope.corpus.frames import (
    FramePosition,
    alternative_positions,
    frame_position,
    select_frames,
)
from headscope.evidence import Candidates, Mean, RankedExample, ShownText, Statistic, Unit
from headscope.evidence.ranked_examples import Number
from headscope.evidence.role_rule import OURS, RoleKind, RoleRule
from headscope.model import Batch
from headscope.model.attention import At, Request, Rows, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

GROUP = ""


@dataclass(frozen=True)
class Cases:
    """Frames of a batch, and other places in their sentences where they would fit.

    Attributes:
        example, query, key: (pair,) pieces of an element and of a target.
        spot: (pair,) which place it belongs to; frame: (place,) whose place; own: (place,)
            whether it is the frame's own.
        home: (frame,) the example of each frame.
    """

    example: Tensor
    query: Tensor
    key: Tensor
    spot: Tensor
    frame: Tensor
    own: Tensor
    home: Tensor


@dataclass(frozen=True)
class FrameOptions:
    """Kovaleva's filter of frames."""

    sentence_words: int = option(12, "Sentences of at most this many words.")
    element_words: int = option(3, "Core elements of at most this many words.")
    distance: int = option(2, "Elements at least this many words away from the target.")


@analysis("frames")
class Frames(Analysis):
    """The largest weight from a frame element to the word that evokes the frame (its target),
    averaged over frames. Heads high above the baseline follow semantic roles.

    Over pieces, all pairs of them. Sentences of at most 12 words, core elements of at most 3
    words that stand at least 2 words away from the target. The baseline is the mean of the same
    maximum over all other places of the sentence with the same lengths and distances, mirrored
    ones included; a frame that fits nowhere else has no part in it.
    """

    options_type = FrameOptions
    roles = (
        RoleRule(
            "frame",
            "its largest weight between a frame element and the word that evokes the frame is "
            "{value} on average",
            "largest",
            0.1,
            OURS,
            rank=40,
            margin=0.1,
            kind=RoleKind.FRAMES,
            titles={"": "ties the elements of a frame to the word that evokes it"},
        ),
    )

    annotation = Annotation.FRAMES

    def make_tallies(self) -> None:
        self.largest = Mean(self.layout, baseline=False)
        self.elsewhere = Mean(self.layout, baseline=False)
        self._shown: dict[int, Pieces] = {}
        self._drawn: dict[int, list[NDArray[np.int16]]] = {}
        self._scores: dict[int, list[NDArray[np.float32]]] = {}

    def begin_examples(self, shard: list[Pieces]) -> None:
        """Sentences with frames; all are short."""
        self._shown = {id(one): one for one in shard if any(self._seen(one))}
        self._drawn = {key: [] for key in self._shown}
        self._scores = {key: [] for key in self._shown}

    def ask(self, view: View) -> dict[str, Request]:
        cases, *_ = view.once(self, lambda: self._cases(view.tokens))
        if not len(cases.query):
            return {}
        pairs = cases.example, cases.query, cases.key
        requests: dict[str, Request] = {"most": At(*pairs, into=cases.spot, largest=True)}
        if shown := self._rows(view):
            requests["shown"] = Rows.whole(view, shown, words=self.conventions.pieces)
        return requests

    def observe(self, seen: Seen) -> None:
        view, most = seen.view, seen["most"].value  # (place, head)
        cases, counts, others = view.once(self, lambda: self._cases(view.tokens))
        frames = most.new_zeros(2, len(cases.home), most.shape[1])
        frames.view(-1, most.shape[1]).index_add_(
            0, cases.own * len(cases.home) + cases.frame, most
        )
        fits = torch.bincount(cases.frame, minlength=len(cases.home)) - 1
        frames[0] /= fits[:, None].clamp_min(1)
        sums = most.new_zeros(2, len(view.buckets), most.shape[1])
        sums.index_add_(1, cases.home, frames)
        self.elsewhere.add(seen, sums[0, :, :, None], others)
        self.largest.add(seen, sums[1, :, :, None], counts)
        if "shown" in seen:
            means = (sums[1] / counts[:, 0].clamp_min(1)).cpu().numpy()  # (example, head)
            for weights, row in zip(seen["shown"], self._rows(view), strict=True):
                self._keep(view.tokens, row, weights)
                self._scores[id(view.tokens.pieces[row])].append(means[row])

    def _rows(self, view: View) -> list[int]:
        """The examples that can be shown: those with frames."""
        pieces = enumerate(view.tokens.pieces)
        return [row for row, text in pieces if id(text) in self._shown]

    def _cases(self, batch: Batch) -> tuple[Cases, Tensor, Tensor]:
        pairs: list[tuple[int, int, int, int]] = []
        spots: list[tuple[int, bool]] = []
        homes: list[int] = []
        fits: list[bool] = []
        for row, pieces in enumerate(batch.pieces):
            for frame in self._seen(pieces):
                spare = alternative_positions(frame, len(pieces.example.words))
                usable = [pieces_of(pieces, spot) for spot in (frame_position(frame), *spare)]
                for number, found in enumerate(usable):
                    if number == 0 or found:
                        pairs += [(row, query, key, len(spots)) for query, key in found]
                        spots.append((len(homes), number == 0))
                homes.append(row)
                fits.append(any(usable[1:]))
        device = batch.ids.device
        columns = torch.tensor(pairs, dtype=torch.long, device=device).view(-1, 4)
        frame_of = torch.tensor([frame for frame, _ in spots], dtype=torch.long, device=device)
        own = torch.tensor([own for _, own in spots], dtype=torch.long, device=device)
        home = torch.tensor(homes, dtype=torch.long, device=device)
        counts = torch.bincount(home, minlength=len(batch.pieces))[:, None, None]
        fit = torch.tensor(fits, dtype=torch.bool, device=device)
        others = torch.bincount(home[fit], minlength=len(batch.pieces))[:, None, None]
        example, query, key, spot = columns.unbind(1)
        return Cases(example, query, key, spot, frame_of, own, home), counts, others

    def _seen(self, pieces: Pieces) -> Iterator[Frame]:
        """The frames of a text that pass the filter and have pieces."""
        for frame in select_frames(pieces.example, **asdict(self.options)):
            if pieces_of(pieces, frame_position(frame)):
                yield frame

    def _keep(self, batch: Batch, row: int, weights: Tensor) -> None:
        """Keep the word that every element of a sentence looks at most.

        Args:
            weights: (head, unit, unit)
        """
        pieces = batch.pieces[row]
        weights = weights * batch.words[row]
        home = pieces.place
        drawn = []
        for frame in self._seen(pieces):
            for _, start, end in frame.elements:
                own = torch.from_numpy(home[start:end][home[start:end] >= 0])
                most = weights[:, own].amax(1)
                most[:, own] = 0
                drawn.append(most.argmax(-1).cpu().numpy())
        self._drawn[id(pieces)].append(pieces.words_at(np.stack(drawn, 1)))

    def candidates(self) -> Iterator[Candidates]:
        """Sentences by the mean of the largest weight over their frames."""
        texts, scores = [], []
        for key, pieces in self._shown.items():
            if not self._drawn[key]:
                continue
            arcs = [
                [start, end, frame.target]
                for frame in self._seen(pieces)
                for _, start, end in frame.elements
            ]
            record = {"words": list(pieces.words), "arcs": arcs}
            drawn = np.concatenate(self._drawn[key])  # (head of all layers, element)
            name = pieces.example.id
            texts.append(ShownText(name, stable_hash(name), record, drawn))
            scores.append(np.concatenate(self._scores[key]))
        if texts:
            yield Candidates("largest", np.stack(scores), texts)

    def render_example(self, example: RankedExample, number: Number) -> Scene:
        """From the last word of each element to the target, and to where the head looks most."""
        arcs = [
            Arc(end - 1, (target,), int(choice), int(choice) == target)
            for (_, end, target), choice in zip(example.record["arcs"], example.drawn, strict=True)
        ]
        return Scene(example.id, tuple(example.record["words"]), tuple(arcs))

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic(
            "largest",
            self.largest.tally,
            self.elsewhere.tally,
            Unit.SHARE,
            "mean of the largest weight from a frame element to the target",
            headlines={GROUP: "frame element to target"},
        )


def pieces_of(pieces: Pieces, spot: FramePosition) -> list[tuple[int, int]]:
    """(query, key) pieces of elements with pieces of the target; empty if any has none."""
    target, spans = spot
    keys = np.nonzero(pieces.word == target)[0].tolist()
    pairs: list[tuple[int, int]] = []
    for start, end in spans:
        queries = np.nonzero((pieces.word >= start) & (pieces.word < end))[0].tolist()
        if not queries or not keys:
            return []
        pairs += [(query, key) for query in queries for key in keys]
    return pairs
