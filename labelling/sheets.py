"""Contact sheets of the maps, for annotators: nothing but the picture and its number.

    python -m labelling.sheets OUT [--seed 0] [--only 1,2,3] [--from NUMBER]

Maps stand in a random order, so that neighbours say nothing of each other. Rows look at columns;
ink is the square root of the weight against the map's own darkest (its 99.5th percentile, and at
least 0.15). Bars beside a map mark the first sentence (blue), the second (orange) and specials
(black).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from labelling.draw import Shown, read_maps

ACROSS, DOWN = 5, 4
SIDE, BAR, GAP = 228, 7, 26
FAINTEST = 0.15
"""A map whose darkest weight is below this is shown pale, as it is."""
COLOURS = {-1: (0, 0, 0), 0: (66, 133, 244), 1: (245, 145, 40)}


def inked(weights: NDArray[np.float64]) -> Image.Image:
    """A map as an image, one pixel a weight."""
    darkest = max(FAINTEST, float(np.quantile(weights, 0.995)))
    ink = np.sqrt(np.clip(weights / darkest, 0, 1))[..., None]
    colour = 255 - ink * (255 - np.array([20, 30, 90]))
    return Image.fromarray(colour.round().astype(np.uint8), "RGB")


def tile(shown: Shown, caption: str) -> Image.Image:
    """A map with its bars, and its number or what is said of it above."""
    size = len(shown.sentence)
    image = Image.new("RGB", (SIDE + BAR + GAP, SIDE + BAR + GAP), "white")
    pen = ImageDraw.Draw(image)
    pen.text((BAR, 1), caption, fill="black", font=ImageFont.load_default(15))
    left, top = BAR + 3, GAP - 4 + BAR
    image.paste(inked(shown.weights).resize((SIDE, SIDE), Image.Resampling.NEAREST), (left, top))
    for place, sentence in enumerate(shown.sentence.tolist()):
        start, end = (round(SIDE * at / size) for at in (place, place + 1))
        pen.rectangle((left + start, top - BAR, left + end - 1, top - 2), fill=COLOURS[sentence])
        pen.rectangle((left - BAR, top + start, left - 2, top + end - 1), fill=COLOURS[sentence])
    pen.rectangle((left - 1, top - 1, left + SIDE, top + SIDE), outline=(150, 150, 150))
    return image


def sheet(
    shown: list[Shown], numbers: list[int], captions: dict[int, str] | None = None
) -> Image.Image:
    """Up to `ACROSS` by `DOWN` maps."""
    step = SIDE + BAR + GAP
    image = Image.new("RGB", (ACROSS * step, DOWN * step), "white")
    for place, number in enumerate(numbers):
        corner = ((place % ACROSS) * step, (place // ACROSS) * step)
        image.paste(tile(shown[number], (captions or {}).get(number, f"{number}")), corner)
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="numbers of maps, by commas")
    parser.add_argument("--first", type=int, default=0, help="maps from this number on")
    asked = parser.parse_args()
    _, shown = read_maps()
    numbers = list(range(asked.first, len(shown)))
    if asked.only:
        numbers = [int(number) for number in asked.only.split(",")]
    order = np.random.default_rng(asked.seed).permutation(numbers).tolist()
    asked.out.mkdir(parents=True, exist_ok=True)
    size = ACROSS * DOWN
    for page in range(0, len(order), size):
        part = order[page : page + size]
        name = f"sheet-{page // size:02d}"
        sheet(shown, part).save(asked.out / f"{name}.png")
        print(name, *part)


if __name__ == "__main__":
    main()
