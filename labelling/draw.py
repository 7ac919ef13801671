"""Draw maps of attention at random from real models on real texts, to be labelled by eye.

    python -m labelling.draw random --models DIR --tuned DIR    each head once, or twice
    python -m labelling.draw again --models DIR --tuned DIR     the same on other texts, added
    python -m labelling.draw more --like CLASS --count N ...     from heads that have shown CLASS

What is kept of a text is no text: how long it is, which tokens are specials or of the second
sentence, and which tokens are the same as which. What is kept of a map are its weights as
`round(255 * sqrt(weight))`, a byte each, which is finer where weights are small.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, Pieces, read
from headscope.model import LayerAttention, Model, load
from labelling.votes import read_votes

HERE = Path(__file__).parent
SHORTEST, LONGEST = 8, 64
"""Pieces of a text whose map can be looked at as a whole."""
A_LAYER = 13
"""Maps that are drawn of every layer of every model: each head once, one of them twice."""
SINGLE = {"sst-2", "cola", "en_ewt-ud-test", "tour", "ko_gsd-ud-test"}


@dataclass(frozen=True)
class Drawn:
    """Where a map comes from.

    Attributes:
        number: of the map, from 0.
        how: `random`, or the class that it was drawn to have more of.
        source, text: the corpus and the id of the text in it.
    """

    number: int
    how: str
    model: str
    layer: int
    head: int
    source: str
    text: str
    tokens: int


@dataclass(frozen=True)
class Shown:
    """One map, with what is known of its tokens.

    Attributes:
        weights: (query, key); rows sum to 1.
        sentence: (token,) 0 or 1: the first or second text; -1: a special.
        token: (token,) equal numbers stand for equal tokens.
    """

    weights: NDArray[np.float64]
    sentence: NDArray[np.int8]
    token: NDArray[np.int16]


def sentences(pieces: Pieces) -> NDArray[np.int8]:
    """(token,) which text of a pair each token belongs to; -1 for specials."""
    return np.where(pieces.special, -1, pieces.second).astype(np.int8)


def english(data: Path) -> dict[str, list[Example]]:
    """Single sentences and pairs in English, by where they come from."""
    corpora = [read(f"glue/{name}", glue_dir=data / "glue") for name in
               ("sst-2", "cola", "mrpc", "rte", "mnli", "sts-b", "qnli")]  # fmt: skip
    corpora += [read(data / "ud" / "en_ewt-ud-test.conllu.gz"), read("tour"), read("tour-pairs")]
    return {corpus.name: list(corpus) for corpus in corpora}


def korean(data: Path) -> dict[str, list[Example]]:
    """Single sentences, and neighbours of a treebank as pairs."""
    single = read(data / "ud" / "ko_gsd-ud-test.conllu.gz")
    lines = [" ".join(one.words) for one in read(data / "ud" / "ko_pud-ud-test.conllu.gz")]
    pairs = [
        Example(f"pud-{place}", text=one, pair=other)
        for place, (one, other) in enumerate(zip(lines[::2], lines[1::2], strict=False))
    ]
    return {single.name: list(single), "ko_pud-neighbours": pairs}


class Source:
    """A model with the texts that it is shown."""

    def __init__(self, model: Model, texts: dict[str, list[Example]]) -> None:
        self.model, self.texts = model, texts

    def draw(self, rng: np.random.Generator, pair: bool) -> tuple[str, Pieces]:
        """A text of a length that can be looked at, from a corpus of the kind that is asked for."""
        names = [name for name in self.texts if (name not in SINGLE) == pair]
        while True:
            name = names[rng.integers(len(names))]
            example = self.texts[name][rng.integers(len(self.texts[name]))]
            (pieces,) = self.model.encode([example])
            if SHORTEST <= len(pieces) <= LONGEST and not pieces.lost:
                return name, pieces

    def show(self, pieces: Pieces, layer: int, head: int) -> Shown:
        """What a head does on a text."""
        seen: list[NDArray[np.float32]] = []

        def keep(attention: LayerAttention) -> None:
            if attention.layer == layer:
                seen.append(attention.weights[0, head].numpy().copy())

        with self.model.watch(keep) as tap:
            tap.forward(self.model.batch([pieces]))
        token = np.unique(pieces.ids, return_inverse=True)[1].astype(np.int16)
        return Shown(seen[0].astype(np.float64), sentences(pieces), token)


def sources(models: Path, tuned: Path, data: Path) -> dict[str, Source]:
    """The models by the name that they have in the table."""
    folders: dict[str, str | Path] = {
        "minilm": "minilm",
        "gte-small": models / "gte-small",
        "mpnet-base": models / "all-mpnet-base-v2",
        "minilm-mrpc": tuned,
    }
    texts = english(data)
    found = {name: Source(load(folder), texts) for name, folder in folders.items()}
    return found | {"albert-kor": Source(load(models / "albert-kor-base"), korean(data))}


def at_random(places: dict[str, Source], number: int = 0) -> Iterator[tuple[Drawn, Shown]]:
    """Every head of every layer once and one twice, singles and pairs in turn.

    Args:
        number: of the first map.
    """
    rng = np.random.default_rng(number)
    for name, source in places.items():
        for layer in range(source.model.layers):
            heads = rng.permutation(source.model.heads)
            for turn in range(A_LAYER):
                head = int(heads[turn % len(heads)])
                corpus, pieces = source.draw(rng, pair=number % 2 == 1)
                about = (corpus, pieces.example.id, len(pieces))
                yield (
                    Drawn(number, "random", name, layer, head, *about),
                    source.show(pieces, layer, head),
                )
                number += 1


def more(
    places: dict[str, Source], before: list[Drawn], like: str, count: int
) -> Iterator[tuple[Drawn, Shown]]:
    """New texts for heads that have shown a class when it was looked for at random."""
    rng, known = np.random.default_rng(len(before)), sorted(seen_in(before, like))
    for turn in range(count):
        name, layer, head = known[turn % len(known)]
        corpus, pieces = places[name].draw(rng, pair=like in ("block", "matching") or turn % 2 == 1)
        about = (corpus, pieces.example.id, len(pieces))
        yield (
            Drawn(len(before) + turn, like, name, layer, head, *about),
            places[name].show(pieces, layer, head),
        )


def write(drawn: list[Drawn], shown: list[Shown]) -> None:
    """Put maps and table down beside this file."""
    flat = [np.round(255 * np.sqrt(one.weights)).astype(np.uint8).ravel() for one in shown]
    np.savez_compressed(
        HERE / "maps.npz",
        sizes=np.array([len(one.sentence) for one in shown], dtype=np.int16),
        levels=np.concatenate(flat),
        sentence=np.concatenate([one.sentence for one in shown]),
        token=np.concatenate([one.token for one in shown]),
    )
    with (HERE / "maps.tsv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow([field.name for field in fields(Drawn)])
        table.writerows(asdict(one).values() for one in drawn)


def read_maps() -> tuple[list[Drawn], list[Shown]]:
    """What `write` put down."""
    with (HERE / "maps.tsv").open(encoding="utf-8", newline="") as file:
        drawn = [
            Drawn(
                int(row["number"]), row["how"], row["model"], int(row["layer"]), int(row["head"]),
                row["source"], row["text"], int(row["tokens"]),
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]  # fmt: skip
    with np.load(HERE / "maps.npz") as file_of_maps:
        stored = dict(file_of_maps)
    sizes = stored["sizes"].astype(int)
    shown = []
    for size, square, end in zip(sizes, np.cumsum(sizes**2), np.cumsum(sizes), strict=True):
        levels = stored["levels"][square - size**2 : square].reshape(size, size)
        weights = (levels / 255.0) ** 2
        weights /= weights.sum(1, keepdims=True)
        part = slice(end - size, end)
        shown.append(Shown(weights, stored["sentence"][part], stored["token"][part]))
    return drawn, shown


def seen_in(drawn: list[Drawn], like: str) -> set[tuple[str, int, int]]:
    """The heads of whose random maps somebody said that they have a shape, or that they match."""
    named = {vote.number for vote in read_votes() if like in (vote.shape, vote.flag)}
    return {
        (one.model, one.layer, one.head)
        for one in drawn
        if one.number in named and one.how == "random"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["random", "again", "more"])
    parser.add_argument("--models", type=Path, required=True, help="folder of get_models.py")
    parser.add_argument("--tuned", type=Path, required=True, help="MiniLM fine-tuned on MRPC")
    parser.add_argument("--data", type=Path, default=os.environ.get("HEADSCOPE_DATA"))
    parser.add_argument("--like", help="the class to have more of")
    parser.add_argument("--count", type=int, default=0)
    asked = parser.parse_args()
    places = sources(asked.models, asked.tuned, asked.data)
    drawn, shown = ([], []) if asked.what == "random" else read_maps()
    if asked.what == "more":
        new = list(more(places, drawn, asked.like, asked.count))
    else:
        new = list(at_random(places, len(drawn)))
    write(drawn + [one for one, _ in new], shown + [one for _, one in new])


if __name__ == "__main__":
    main()
