"""Frames that Kovaleva et al. 2019 (section 4.2) look at, and spans to compare them with."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpus.example import Example, Frame

Span = tuple[int, int]
Place = tuple[int, tuple[Span, ...]]
"""A target word and the spans of its elements."""


def chosen(
    example: Example, *, sentence_words: int, element_words: int, distance: int
) -> Iterator[Frame]:
    """The frames that pass the filter: short sentences, short core elements, far enough away.

    Near to the target a head that looks at its neighbours would do as well.
    """
    if len(example.words) > sentence_words:
        return
    for frame in example.frames:
        if frame.elements and all(
            end - start <= element_words
            and min(abs(word - frame.target) for word in range(start, end)) >= distance
            for _, start, end in frame.elements
        ):
            yield frame


def place(frame: Frame) -> Place:
    """Where a frame is, without its names."""
    return frame.target, tuple((start, end) for _, start, end in frame.elements)


def elsewhere(frame: Frame, words: int) -> list[Place]:
    """Every other place in a sentence of so many words where the frame would fit.

    The same lengths and distances: moved along the sentence, or mirrored and moved.

    >>> frame = Frame("Giving", 0, (("Theme", 2, 3),))
    >>> elsewhere(frame, 4)
    [(1, ((3, 4),)), (2, ((0, 1),)), (3, ((1, 2),))]
    """
    target, spans = place(frame)
    own = (target, tuple(sorted(spans)))
    mirrored = (-target, tuple((1 - end, 1 - start) for start, end in spans))
    found: list[Place] = []
    for origin, parts in ((target, spans), mirrored):
        for shift in range(-words, 2 * words):
            moved = tuple((start + shift, end + shift) for start, end in parts)
            inside = 0 <= origin + shift < words
            inside = inside and all(start >= 0 and end <= words for start, end in moved)
            spot = (origin + shift, tuple(sorted(moved)))
            if inside and spot != own and spot not in found:
                found.append(spot)
    return found
