"""Voita et al. 2019: what the heads of a translation model's encoder do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from headscope.corpus import Corpus, Example, bucket_of
from headscope.evidence import HEADS, HeadRow
from headscope.evidence.interval import estimate
from headscope.experiments.reproduce.inputs import CannotReproduceError
from headscope.experiments.reproduce.workbench import (
    Quantities,
    Recomputed,
    Workbench,
    best_of,
    recipe,
)
from headscope.experiments.scan.settings import Settings

PAPER = "voita2019"
PERCENT = 100.0
RELATIONS = {"nsubj": "nsubj", "dobj": "dobj", "obj": "dobj", "amod": "amod", "advmod": "advmod"}
"""The relations of Stanford and of Universal Dependencies, by the paper's names."""
DIRECTIONS = {"head-row": "from head", "row": "from dependent"}
"""Who looks: the verb (or noun), or the word that depends on it."""
ENCODER = ("self", "encoder")
"""Attention of an encoder, alone or in front of a decoder."""
PERSONS = {"i": "first", "we": "first", "you": "second"}
FEWEST = 20
"""Words of a relation."""
POSITIONAL = 0.9
"""Share of tokens whose largest weight is at one offset (section 5.1)."""


@recipe(PAPER, "news", "news")
def news(bench: Workbench) -> Quantities:
    """What a treebank of news alone says: figure 3, baselines, subjects, sentence length."""
    return dict(text_statistics(bench.inputs.corpus("news")))


@recipe(PAPER, "talk", "talk")
def talk(bench: Workbench) -> Quantities:
    """The same of spoken language, which stands for subtitles."""
    return dict(text_statistics(bench.inputs.corpus("talk")))


def text_statistics(treebank: Corpus) -> Iterator[tuple[str, Recomputed]]:
    """Places of dependents, persons of subjects and lengths of sentences, with intervals."""
    counts: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for example in treebank:
        bucket = bucket_of(example.unit)
        counts["sentences"][bucket] += 1
        counts["words"][bucket] += len(example.words)
        for name in _counted(example):
            counts[name][bucket] += 1
    if "nsubj" not in counts:
        raise CannotReproduceError(f"{treebank.name} has no subjects among its relations")
    yield "sentence length", _ratio(counts["words"], counts["sentences"])
    for person in ("first", "second", "third"):
        of_person = _ratio(counts[f"{person} person"], counts["nsubj"], PERCENT)
        yield f"{person} person", of_person
    for relation in sorted(counts.keys() & RELATIONS.values()):
        prefix = f"{relation} at "
        shares = {
            name.removeprefix(prefix): _ratio(sums, counts[relation])
            for name, sums in counts.items()
            if name.startswith(prefix)
        }
        for offset, share in shares.items():
            yield f"{relation} at {offset}", share
        best = max(shares, key=lambda offset: shares[offset].value or 0)
        yield f"{relation} baseline, share", shares[best]
        yield f"{relation} baseline", _ratio(counts[prefix + best], counts[relation], PERCENT)


def _counted(example: Example) -> Iterator[str]:
    """What the words of a sentence count for: their relation, its offset, the subject's person.

    >>> words, relations = ("We", "sing", "songs"), ("nsubj", "root", "obj")
    >>> list(_counted(Example("1", words=words, heads=(1, -1, 1), relations=relations)))
    ['nsubj', 'nsubj at -1', 'first person', 'dobj', 'dobj at +1']
    """
    for word, (head, label) in enumerate(zip(example.heads, example.relations, strict=True)):
        relation = RELATIONS.get(label)
        if relation is None or head < 0:
            continue
        yield relation
        yield f"{relation} at {word - head:+d}"
        if relation == "nsubj":
            yield f"{PERSONS.get(example.words[word].lower(), 'third')} person"


def _ratio(sums: dict[int, float], counts: dict[int, float], scale: float = 1.0) -> Recomputed:
    """A ratio of counts by bucket, with the jackknife's interval; lengths are no shares."""
    buckets = sorted(counts)
    above, below = (np.array([each.get(one, 0.0) for one in buckets]) for each in (sums, counts))
    ratio = estimate(above, below, share=bool((above <= below).all()))
    low, high = (None if np.isnan(one) else scale * float(one) for one in (ratio.low, ratio.high))
    return Recomputed(scale * float(ratio.value), low, high, int(ratio.n))


@recipe(PAPER, "syntax", "source_treebank")
def syntax(bench: Workbench) -> Quantities:
    """Table 1 and figure 4: of every relation and direction the best head of the encoder."""
    settings = Settings(min_count=FEWEST, untrained=0)
    results = bench.scan("syntax", "source_treebank", only=["dependencies"], settings=settings)
    found: Quantities = {}
    for group, relation in RELATIONS.items():
        for direction, name in DIRECTIONS.items():
            rows = results.rows(HEADS, statistic="accuracy", group=group, direction=direction)
            heads = _heads_of_encoder(rows)
            if heads:
                best = best_of(heads)
                found[f"{relation} {name}"] = Recomputed.of(best, PERCENT)
                found[f"{relation} {name}, share"] = Recomputed.of(best)
    return found


@recipe(PAPER, "heads", "texts")
def heads(bench: Workbench) -> Quantities:
    """Sections 5.1 and 5.3: how sure positional heads are, and the head of rare words."""
    only = ["offset_argmax", "confidence", "rare_words"]
    results = bench.scan("heads", "texts", only=only, settings=Settings(untrained=0))
    found: Quantities = {}
    shares = _heads_of_encoder(results.rows(HEADS, analysis="offset_argmax"))
    positional = {row.place for row in shares if row.value >= POSITIONAL}
    sure = [
        row
        for row in _heads_of_encoder(results.rows(HEADS, analysis="confidence"))
        if row.place in positional
    ]
    if sure:
        found["least sure positional head"] = Recomputed.of(min(sure, key=lambda row: row.value))
    rare = _heads_of_encoder(results.rows(HEADS, analysis="rare_words"))
    place = best_of(row for row in rare if row.group == "two rarest").place if rare else None
    for row in rare:
        if row.place == place:
            found[f"rare-words head, {row.group}"] = Recomputed.of(row, PERCENT)
    return found


def _heads_of_encoder(rows: list[HeadRow]) -> list[HeadRow]:
    return [row for row in rows if row.head is not None and row.attention in ENCODER]
