"""Reference implementations of the analyses: one text, one head, one row at a time.

Each function takes maps (layer, head, query, key) of one text as the model itself returns them, and
gives for every number a sum and a count per head, and the same for attention to all alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Key = tuple[str, str, str | None, str | None]
Item = tuple[Key, int, int, float, float]  # what, layer, head (-1: baseline), sum, count


@dataclass
class Text:
    """One text: its maps, which keys each query of a layer sees, and what its tokens are."""

    maps: NDArray[np.float64]  # (layer, head, query, key)
    visible: NDArray[np.bool_]  # (layer, query, key)
    special: list[bool]
    separator: list[bool]
    punctuation: list[bool]
    stop: list[bool]
    word: list[int | None]
    words: list[str]

    @property
    def length(self) -> int:
        return len(self.special)

    def candidates(self, layer: int, i: int) -> list[int]:
        """The tokens of the text that query i sees: where its largest weight may fall."""
        return [j for j in range(self.length) if not self.special[j] and self.visible[layer, i, j]]

    def heads(self) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Every head's map, and as head -1 the map of attention to all visible tokens alike."""
        for layer in range(self.maps.shape[0]):
            for head in range(self.maps.shape[1]):
                yield layer, head, self.maps[layer, head]
            uniform = self.visible[layer] / self.visible[layer].sum(-1, keepdims=True)
            yield layer, -1, uniform


def relative_position(text: Text) -> Iterator[Item]:
    for layer, head, a in text.heads():
        for offset in range(-8, 9):
            name = f"{offset:+d}" if offset else "0"
            for i in range(text.length):
                j = i + offset
                if text.special[i] or not 0 <= j < text.length or not text.visible[layer, i, j]:
                    continue
                yield ("relative_position", "weight", name, None), layer, head, a[i, j], 1


def special_tokens(text: Text) -> Iterator[Item]:
    first = [place == 0 for place in range(text.length)]
    punctuation = [p and not f for p, f in zip(text.punctuation, first, strict=True)]
    stop = [s and not f for s, f in zip(text.stop, first, strict=True)]
    other = [not (f or s or p) for f, s, p in zip(first, text.separator, punctuation, strict=True)]
    roles = {"first": first, "separator": text.separator, "stop": stop}
    roles |= {"punctuation": punctuation, "other": other}
    for layer, head, a in text.heads():
        for i in range(text.length):
            place = "from separator" if text.separator[i] else "from other"
            for role, members in roles.items():
                mass = sum(a[i, j] for j in range(text.length) if members[j])
                for direction in ("from all", place):
                    yield ("special_tokens", "mass", role, direction), layer, head, mass, 1


def focus(text: Text) -> Iterator[Item]:
    for layer, head, a in text.heads():
        for i in range(text.length):
            entropy = -sum(p * math.log(p) for p in a[i] if p > 0)
            yield ("focus", "entropy", None, None), layer, head, entropy, 1
            if i == 0:
                yield ("focus", "entropy_first", None, None), layer, head, entropy, 1
            seen = int(text.visible[layer, i].sum())
            if seen > 1:
                share = entropy / math.log(seen)
                yield ("focus", "entropy_relative", None, None), layer, head, share, 1


def confidence(text: Text) -> Iterator[Item]:
    for layer, head, a in text.heads():
        for i in range(text.length):
            if not text.special[i]:
                largest = max(a[i, j] for j in range(text.length) if not text.separator[j])
                yield ("confidence", "largest", None, None), layer, head, largest, 1


def offset_argmax(text: Text) -> Iterator[Item]:
    for layer, head, a in text.heads():
        for offset in range(-8, 9):
            name = f"{offset:+d}" if offset else "0"
            for i in range(text.length):
                if text.special[i]:
                    continue
                candidates = text.candidates(layer, i)
                if head < 0:
                    hit = float(i + offset in candidates) / max(len(candidates), 1)
                else:
                    best = max((a[i, j] for j in candidates), default=0)
                    hit = float(i + offset in candidates and 0 < best == a[i, i + offset])
                yield ("offset_argmax", "share", name, None), layer, head, hit, 1


def rare_words(text: Text, counts: Counter[str]) -> Iterator[Item]:
    ranking = sorted(counts, key=lambda word: (-counts[word], word))
    present = [place for place in text.word if place is not None]
    lowered = {place: text.words[place].lower() for place in present}
    order = sorted({(counts[word], word) for word in lowered.values()})
    if not order or order[0][1] in ranking[:500]:
        return
    for name, bound in (("rarest", order[0][0]), ("two rarest", order[:2][-1][0])):
        targets = [
            j
            for j, place in enumerate(text.word)
            if place is not None and counts[lowered[place]] <= bound
        ]
        for layer, head, a in text.heads():
            for i in range(text.length):
                if text.special[i]:
                    continue
                candidates = text.candidates(layer, i)
                if head < 0:
                    hit = len([j for j in targets if j in candidates]) / max(len(candidates), 1)
                else:
                    best = max((a[i, j] for j in candidates), default=0)
                    hit = float(any(j in candidates and 0 < best == a[i, j] for j in targets))
                yield ("rare_words", "share", name, None), layer, head, hit, 1
