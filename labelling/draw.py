"""Sample attention maps from real models on real texts, to be labelled by eye.

    python -m labelling.draw random --models DIR --tuned mrpc=DIR   each head once, or twice
    python -m labelling.draw again --models DIR --tuned mrpc=DIR    the same on other texts, added
    python -m labelling.draw more --like CLASS --count N ...        from heads that have shown CLASS
    python -m labelling.draw doubted --count N ...    maps that the classifier is uncertain about
    python -m labelling.draw held-out --count N ...   new texts, all layers of three models alike:
                                                      for evaluation, never for training

No text is stored: only its length, which tokens are special or belong to the second sentence, and
which tokens are identical. Of a map, the weights are stored as `round(255 * sqrt(weight))`, one
byte each, which is finer where weights are small.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses._shapes.classifier import SHAPES, Shape, classify
from headscope.corpus import Example, Pieces, read
from headscope.model import Model, load
from headscope.model.attention import MapWatcher, Seen
from labelling.votes import read_votes

MAPS, TABLE = (Path(__file__).parent / name for name in ("maps.npz", "maps.tsv"))
SHORTEST, LONGEST = 8, 64
"""Shortest and longest texts, in pieces, whose maps can be viewed as a whole."""
A_LAYER = 13
"""Maps sampled from every layer of every model: each head once, one of them twice."""
POOL, OF_A_TEXT = 400, 5
"""Texts per model that are searched for doubtful maps, and maps per text."""
DOUBTED, HELD_OUT = "doubted", "held-out"
UNTUNED = ("minilm", "gte-small", "mpnet-base")
"""The models of the maps that are held out."""
SINGLE = {"sst-2", "cola", "en_ewt-ud-test", "tour", "ko_gsd-ud-test"}


@dataclass(frozen=True)
class Drawn:
    """Where a map comes from.

    Attributes:
        number: of the map, from 0.
        how: `random`, the class that it was drawn to have more of, `doubted`, or `held-out`.
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

    @property
    def tuned(self) -> str:
        """The task that the model was fine-tuned on, if any."""
        return self.model.removeprefix("minilm-") if self.model.startswith("minilm-") else ""

    @property
    def judged(self) -> bool:
        """Whether agreement is measured on it: it was sampled without a classifier, and judged by
        the annotators of the earlier votes.
        """
        return self.how not in {DOUBTED, HELD_OUT}


@dataclass(frozen=True)
class Shown:
    """One map, with what is known about its tokens.

    Attributes:
        weights: (query, key); rows sum to 1.
        sentence: (token,) 0 or 1: the first or second text; -1: a special token.
        token: (token,) equal numbers stand for equal tokens.
    """

    weights: NDArray[np.float64]
    sentence: NDArray[np.int8]
    token: NDArray[np.int16]


def sentences(pieces: Pieces) -> NDArray[np.int8]:
    """(token,) which text of a pair each token belongs to; -1 for special tokens."""
    return np.where(pieces.special, -1, pieces.second).astype(np.int8)


def english(data: Path) -> dict[str, list[Example]]:
    """Single sentences and pairs in English, by where they come from."""
    corpora = [
        read(f"glue/{name}", glue_dir=data / "glue")
        for name in ("sst-2", "cola", "mrpc", "rte", "mnli", "sts-b", "qnli")
    ]
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
        """A text of suitable length, from a corpus of single sentences or of pairs."""
        names = [name for name in self.texts if (name not in SINGLE) == pair]
        while True:
            name = names[rng.integers(len(names))]
            example = self.texts[name][rng.integers(len(self.texts[name]))]
            (pieces,) = self.model.encode([example])
            if SHORTEST <= len(pieces) <= LONGEST and not pieces.lost:
                return name, pieces

    def show(self, pieces: Pieces, heads: list[tuple[int, int]]) -> list[Shown]:
        """The maps of some heads (layer, head) on a text."""
        seen: dict[int, NDArray[np.float32]] = {}

        def keep(site: Seen, maps: Tensor) -> None:
            seen[site.site.layer] = maps[0].numpy().copy()

        with self.model.watch(MapWatcher(keep)) as tap:
            tap.forward(self.model.batch([pieces]))
        token = np.unique(pieces.ids, return_inverse=True)[1].astype(np.int16)
        return [
            Shown(seen[layer][head].astype(np.float64), sentences(pieces), token)
            for layer, head in heads
        ]


def sources(models: Path, tuned: dict[str, Path], data: Path) -> dict[str, Source]:
    """The models by their names in the table.

    Args:
        tuned: MiniLM fine-tuned, by task.
    """
    folders: dict[str, str | Path] = {
        "minilm": "minilm",
        "gte-small": models / "gte-small",
        "mpnet-base": models / "all-mpnet-base-v2",
        **{f"minilm-{task}": folder for task, folder in tuned.items()},
    }
    texts = english(data)
    found = {name: Source(load(folder), texts) for name, folder in folders.items()}
    return found | {"albert-kor": Source(load(models / "albert-kor-base"), korean(data))}


def at_random(places: dict[str, Source], number: int = 0) -> Iterator[tuple[Drawn, Shown]]:
    """Every head of every layer once and one twice, alternating between singles and pairs.

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
                (shown,) = source.show(pieces, [(layer, head)])
                yield Drawn(number, "random", name, layer, head, *about), shown
                number += 1


def more(
    places: dict[str, Source], before: list[Drawn], like: str, count: int
) -> Iterator[tuple[Drawn, Shown]]:
    """New texts for heads that showed a class in the random sample."""
    rng, known = np.random.default_rng(len(before)), sorted(seen_in(before, like))
    for turn in range(count):
        name, layer, head = known[turn % len(known)]
        corpus, pieces = places[name].draw(rng, pair=like in ("block", "matching") or turn % 2 == 1)
        about = (corpus, pieces.example.id, len(pieces))
        (shown,) = places[name].show(pieces, [(layer, head)])
        yield Drawn(len(before) + turn, like, name, layer, head, *about), shown


def doubted(places: dict[str, Source], number: int, count: int) -> Iterator[tuple[Drawn, Shown]]:
    """The same number for every model and shape: new maps with this shape among the two
    likeliest, those with the closest probabilities first.

    Args:
        number: of the first map.
    """
    rng = np.random.default_rng(number)
    for name, source in places.items():
        pool = list(_pool(rng, name, source))
        closeness = [sorted(shape.probabilities.values())[-2:] for _, _, shape in pool]
        order = np.argsort([high - low for low, high in closeness]).tolist()
        for shape in SHAPES:
            near = [n for n in order if shape in pool[n][2].likeliest(2)]
            for n in near[: count // (len(places) * len(SHAPES))]:
                order.remove(n)
                yield replace(pool[n][0], number=number), pool[n][1]
                number += 1


def _pool(
    rng: np.random.Generator, name: str, source: Source
) -> Iterator[tuple[Drawn, Shown, Shape]]:
    """Random maps with their predicted shapes, alternating between singles and pairs."""
    model = source.model
    for turn in range(POOL):
        corpus, pieces = source.draw(rng, pair=turn % 2 == 1)
        chosen = rng.choice(model.layers * model.heads, OF_A_TEXT, replace=False)
        heads = [divmod(place, model.heads) for place in chosen.tolist()]
        for (layer, head), shown in zip(heads, source.show(pieces, heads), strict=True):
            about = (name, layer, head, corpus, pieces.example.id, len(pieces))
            shape = classify(shown.weights, shown.sentence.tolist())
            yield Drawn(-1, DOUBTED, *about), shown, shape


def held_out(
    places: dict[str, Source], before: list[Drawn], count: int
) -> Iterator[tuple[Drawn, Shown]]:
    """Texts that no map is of yet: as many maps of every model, and of every layer of it.

    Args:
        count: how many of each model.
    """
    rng = np.random.default_rng(len(before))
    used, number = {(one.source, one.text) for one in before}, len(before)
    for name in UNTUNED:
        source = places[name]
        for turn in range(count):
            layer = turn % source.model.layers
            head = int(rng.integers(source.model.heads))
            corpus, pieces = source.draw(rng, pair=number % 2 == 1)
            while (corpus, pieces.example.id) in used:
                corpus, pieces = source.draw(rng, pair=number % 2 == 1)
            used.add((corpus, pieces.example.id))
            about = (corpus, pieces.example.id, len(pieces))
            (shown,) = source.show(pieces, [(layer, head)])
            yield Drawn(number, HELD_OUT, name, layer, head, *about), shown
            number += 1


def flat(shown: list[Shown]) -> dict[str, NDArray[Any]]:
    """Some maps as four long arrays."""
    levels = [np.round(255 * np.sqrt(one.weights)).astype(np.uint8).ravel() for one in shown]
    return {
        "sizes": np.array([len(one.sentence) for one in shown], dtype=np.int16),
        "levels": np.concatenate(levels),
        "sentence": np.concatenate([one.sentence for one in shown]),
        "token": np.concatenate([one.token for one in shown]),
    }


def stored() -> dict[str, NDArray[Any]]:
    """The arrays that are there."""
    with np.load(MAPS) as file:
        return dict(file)


def write(drawn: list[Drawn], shown: list[Shown], anew: bool) -> None:
    """Write maps and table next to this file, after the existing ones unless starting anew."""
    new = flat(shown)
    if not anew:
        new = {name: np.concatenate([one, new[name]]) for name, one in stored().items()}
    with MAPS.open("wb") as file_of_maps:
        np.savez_compressed(file_of_maps, allow_pickle=False, **new)
    with TABLE.open("w" if anew else "a", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        if anew:
            table.writerow([field.name for field in fields(Drawn)])
        table.writerows(asdict(one).values() for one in drawn)


def read_maps() -> tuple[list[Drawn], list[Shown]]:
    """The maps and the table that `write` wrote."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        drawn = [
            Drawn(
                int(row["number"]),
                row["how"],
                row["model"],
                int(row["layer"]),
                int(row["head"]),
                row["source"],
                row["text"],
                int(row["tokens"]),
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]
    kept = stored()
    sizes = kept["sizes"].astype(int)
    shown = []
    for size, square, end in zip(sizes, np.cumsum(sizes**2), np.cumsum(sizes), strict=True):
        levels = kept["levels"][square - size**2 : square].reshape(size, size)
        weights = (levels / 255.0) ** 2
        weights /= weights.sum(1, keepdims=True)
        part = slice(end - size, end)
        shown.append(Shown(weights, kept["sentence"][part], kept["token"][part]))
    return drawn, shown


def seen_in(drawn: list[Drawn], like: str) -> set[tuple[str, int, int]]:
    """The heads with random maps that an annotator gave a shape, or called matching."""
    named = {vote.number for vote in read_votes() if like in (vote.shape, vote.flag)}
    return {
        (one.model, one.layer, one.head)
        for one in drawn
        if one.number in named and one.how == "random"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["random", "again", "more", DOUBTED, HELD_OUT])
    parser.add_argument("--models", type=Path, required=True, help="folder of get_models.py")
    parser.add_argument("--tuned", nargs="*", default=[], help="MiniLM fine-tuned: TASK=DIR")
    parser.add_argument("--data", type=Path, default=os.environ.get("HEADSCOPE_DATA"))
    parser.add_argument("--like", help="the class to have more of")
    parser.add_argument("--count", type=int, default=0)
    asked = parser.parse_args()
    tuned = {task: Path(folder) for task, _, folder in (one.partition("=") for one in asked.tuned)}
    places = sources(asked.models, tuned, asked.data)
    anew = asked.what == "random"
    drawn = [] if anew else read_maps()[0]
    if asked.what == "more":
        new = list(more(places, drawn, asked.like, asked.count))
    elif asked.what == DOUBTED:
        new = list(doubted(places, len(drawn), asked.count))
    elif asked.what == HELD_OUT:
        new = list(held_out(places, drawn, asked.count))
    else:
        new = list(at_random(places, len(drawn)))
    write([one for one, _ in new], [one for _, one in new], anew)


if __name__ == "__main__":
    main()
