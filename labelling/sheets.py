"""Contact sheets of the maps, for annotators: nothing but the picture and its number.

    python -m labelling.sheets OUT [--seed 0] [--only 1,2,3] [--first NUMBER] [--large | --twice]

Maps are in random order, so that neighbours are unrelated. Rows attend to columns; darkness is the
square root of the weight relative to the map's own darkest (its 99.5th percentile, and at least
0.15). With `--twice` every map is shown twice, and the left picture has darkness in proportion to
the weight, so that it shows where most of the attention is. Bars along a map mark the first
sentence (blue), the second (orange) and special tokens (black).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from labelling.draw import Shown, read_maps

BAR, GAP = 7, 26
FAINTEST = 0.15
"""A map whose darkest weight is below this is not scaled up, and looks pale."""


@dataclass(frozen=True)
class Page:
    """Number of maps per sheet, and of pixels per picture of one.

    Attributes:
        twice: whether the weights themselves are shown beside their square roots.
    """

    across: int = 5
    down: int = 4
    side: int = 228
    twice: bool = False

    @property
    def maps(self) -> int:
        """How many maps fit on a sheet."""
        return self.across * self.down


SMALL, LARGE, TWICE = Page(), Page(4, 3, 294), Page(3, 4, 236, twice=True)
COLOURS = {-1: (0, 0, 0), 0: (66, 133, 244), 1: (245, 145, 40)}


def inked(weights: NDArray[np.float64], power: float = 0.5) -> Image.Image:
    """A map as an image, one pixel per weight, whose darkness is a power of the weight."""
    darkest = max(FAINTEST, float(np.quantile(weights, 0.995)))
    ink = np.clip(weights / darkest, 0, 1)[..., None] ** power
    colour = 255 - ink * (255 - np.array([20, 30, 90]))
    return Image.fromarray(colour.round().astype(np.uint8), "RGB")


def tile(shown: Shown, caption: str, side: int, power: float = 0.5) -> Image.Image:
    """A map with its bars, and above it its number or a caption."""
    size = len(shown.sentence)
    image = Image.new("RGB", (side + BAR + GAP, side + BAR + GAP), "white")
    pen = ImageDraw.Draw(image)
    pen.text((BAR, 1), caption, fill="black", font=ImageFont.load_default(15))
    left, top = BAR + 3, GAP - 4 + BAR
    picture = inked(shown.weights, power).resize((side, side), Image.Resampling.NEAREST)
    image.paste(picture, (left, top))
    for place, sentence in enumerate(shown.sentence.tolist()):
        start, end = (round(side * at / size) for at in (place, place + 1))
        pen.rectangle((left + start, top - BAR, left + end - 1, top - 2), fill=COLOURS[sentence])
        pen.rectangle((left - BAR, top + start, left - 2, top + end - 1), fill=COLOURS[sentence])
    pen.rectangle((left - 1, top - 1, left + side, top + side), outline=(150, 150, 150))
    return image


def sheet(
    shown: list[Shown],
    numbers: list[int],
    captions: dict[int, str] | None = None,
    page: Page = SMALL,
) -> Image.Image:
    """Up to `page.maps` maps."""
    step, powers = page.side + BAR + GAP, (1.0, 0.5) if page.twice else (0.5,)
    wide = len(powers) * step
    image = Image.new("RGB", (page.across * wide, page.down * step), "white")
    for place, number in enumerate(numbers):
        left, top = (place % page.across) * wide, (place // page.across) * step
        caption = (captions or {}).get(number, f"{number}")
        for turn, power in enumerate(powers):
            picture = tile(shown[number], caption, page.side, power)
            image.paste(picture, (left + turn * step, top))
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="numbers of maps, by commas")
    parser.add_argument("--first", type=int, default=0, help="maps from this number on")
    parser.add_argument("--large", action="store_true", help="12 large maps a sheet, not 20")
    parser.add_argument("--twice", action="store_true", help="12 maps a sheet, each shown twice")
    asked = parser.parse_args()
    page = TWICE if asked.twice else LARGE if asked.large else SMALL
    _, shown = read_maps()
    numbers = list(range(asked.first, len(shown)))
    if asked.only:
        numbers = [int(number) for number in asked.only.split(",")]
    order = np.random.default_rng(asked.seed).permutation(numbers).tolist()
    asked.out.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(order), page.maps):
        part = order[start : start + page.maps]
        name = f"sheet-{start // page.maps:02d}"
        sheet(shown, part, page=page).save(asked.out / f"{name}.png")
        print(name, *part)


if __name__ == "__main__":
    main()
