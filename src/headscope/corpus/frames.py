"""The frames that Kovaleva et al. 2019 (section 4.2) analyse, and alternative positions."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpus.example import Example, Frame

FramePosition = tuple[int, tuple[tuple[int, int], ...]]
"""The position of a target word, and the word spans of the frame elements (end exclusive)."""


def select_frames(
    example: Example, *, sentence_words: int, element_words: int, distance: int
) -> Iterator[Frame]:
    """The frames that pass the filter: short sentence, short core elements, far from the target.

    Close to the target, a head that attends to neighbouring words would score as well.

    Args:
        sentence_words: maximum length of the sentence.
        element_words: maximum length of each element.
        distance: minimum distance between the target and each element.
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


def frame_position(frame: Frame) -> FramePosition:
    """The position of a frame, without names."""
    return frame.target, tuple((start, end) for _, start, end in frame.elements)


def alternative_positions(frame: Frame, words: int) -> list[FramePosition]:
    """All other positions in a sentence of `words` words where the frame would fit.

    Lengths and distances stay the same: the frame is shifted, or mirrored and shifted.

    >>> frame = Frame("Giving", 0, (("Theme", 2, 3),))
    >>> alternative_positions(frame, 4)
    [(1, ((3, 4),)), (2, ((0, 1),)), (3, ((1, 2),))]
    """
    target, spans = frame_position(frame)
    own = (target, tuple(sorted(spans)))
    mirrored = (-target, tuple((1 - end, 1 - start) for start, end in spans))
    positions: list[FramePosition] = []
    for origin, elements in ((target, spans), mirrored):
        for shift in range(-words, 2 * words):
            moved = tuple((start + shift, end + shift) for start, end in elements)
            inside = 0 <= origin + shift < words
            inside = inside and all(start >= 0 and end <= words for start, end in moved)
            position = (origin + shift, tuple(sorted(moved)))
            if inside and position != own and position not in positions:
                positions.append(position)
    return positions
