"""Analyses of annotation equal their reference implementations, whatever pieces words have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from headscope._util.progress import NoProgress
from headscope.corpus import Example, Frame, Link, Mention, read
from headscope.evidence import HEADS
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.runs import RunResults
from tests.parity import annotated as slow
from tests.parity.annotated import Annotated, Linked, Spot
from tests.parity.reference import Item, Key
from tests.parity.test_analyses import texts
from tests.tiny import tiny
from tests.unit.examples import corpus_of

NAMES = ["dependencies", "links", "linguistic_features", "token_to_token", "frames", "coreference"]
RELATIONS = ("nsubj", "obj", "det", "nsubj:pass", "punct")
TAGS = ("NOUN", "PRON", "VERB", "ADV")
Totals = dict[tuple[Key, int, int], list[float]]


def sentence(number: int, rng: np.random.Generator) -> Example:
    """A random sentence with a random tree, links, frames and mentions; two make a document."""
    size = int(rng.integers(4, 8))
    letters = list("abcdefghijkl")
    words = ["".join(rng.choice(letters, int(rng.choice([1, 2, 4, 6])))) for _ in range(size)]
    if number % 3 == 0:
        words[int(rng.integers(size))] = "\u200b"  # the tokenizer makes nothing of it
    root = int(rng.integers(size))
    heads = [
        -1 if w == root else int(rng.choice([h for h in range(size) if h != w]))
        for w in range(size)
    ]
    relations = ["root" if h < 0 else str(rng.choice(RELATIONS)) for h in heads]
    links = {
        (int(a), int(b), str(rng.choice(["x", "y"]))) for a, b in rng.integers(0, size, (5, 2))
    }
    target = int(rng.integers(size))
    spans = [(s, s + 1) for s in range(size) if abs(s - target) >= 2][:2]
    mentions = [Mention(w, w + 1, str(rng.choice(["1", "2"]))) for w in range(0, size, 2)]
    return Example(
        f"d{number // 2}-{number}",
        document=f"d{number // 2}",
        words=tuple(words),
        upos=tuple(str(tag) for tag in rng.choice(TAGS, size)),
        heads=tuple(heads),
        relations=tuple(relations),
        links=tuple(Link(*link) for link in sorted(links) if link[0] != link[1]),
        frames=(Frame("F", target, tuple(("E", *span) for span in spans)),) if spans else (),
        mentions=tuple(mentions),
    )


def features(example: Example) -> dict[str, list[int]]:
    tags = {"noun": "NOUN", "pronoun": "PRON", "verb": "VERB"}
    found = {
        name: [w for w, t in enumerate(example.upos) if t == tag] for name, tag in tags.items()
    }
    for name, start in (("subject", "nsubj"), ("object", "obj")):
        found[name] = [w for w, r in enumerate(example.relations) if r.startswith(start)]
    return found | {"negation": []}


def trees(example: Example) -> Linked:
    linked: Linked = defaultdict(list)
    for word, (head, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
        if head >= 0:
            linked[relation].append((word, head))
    return linked


def links(example: Example) -> Linked:
    linked: Linked = defaultdict(list)
    for link in example.links:
        linked[link.label].append((link.source, link.target))
    return linked


def placements(found: Annotated) -> list[list[Spot]]:
    """Every frame's own place, and every other of equal lengths and distances."""
    made = []
    size = len(found.example.words)
    for frame in found.example.frames:
        own: Spot = (frame.target, sorted((a, b) for _, a, b in frame.elements))
        spots = [own]
        for target in range(size):
            for sign in (1, -1):
                steps = [[sign * (w - own[0]) for w in range(a, b)] for a, b in own[1]]
                words = [sorted(target + step for step in part) for part in steps]
                spot: Spot = (target, sorted((part[0], part[-1] + 1) for part in words))
                inside = all(part[0] >= 0 and part[-1] < size for part in words)
                if inside and spot != own and spot not in spots:
                    spots.append(spot)
        alive = [
            spot
            for spot in spots
            if all(any(found.pieces(w) for w in range(a, b)) for a, b in spot[1])
            and found.pieces(spot[0])
        ]
        if own in alive:
            made.append(alive)
    return made


def joined(examples: list[Example]) -> list[Example]:
    """Documents whole: words, and mentions moved along."""
    documents: dict[str | None, list[Example]] = defaultdict(list)
    for example in examples:
        documents[example.document].append(example)
    made = []
    for parts in documents.values():
        words: list[str] = []
        tags: list[str] = []
        mentions: list[Mention] = []
        for part in parts:
            moved = [
                Mention(m.start + len(words), m.end + len(words), m.chain) for m in part.mentions
            ]
            words += part.words
            tags += part.upos
            mentions += moved
        made.append(
            Example(
                str(parts[0].document),
                words=tuple(words),
                upos=tuple(tags),
                mentions=tuple(mentions),
            )
        )
    return made


def kinds(example: Example) -> list[slow.Mention]:
    types = {"PRON": "pronoun", "PROPN": "proper"}
    return [
        (m.start, m.chain, types.get(example.upos[m.start], "nominal")) for m in example.mentions
    ]


def collect(items: Iterable[Item], totals: Totals) -> None:
    for what, layer, head, amount, count in items:
        totals[what, layer, head][0] += amount
        totals[what, layer, head][1] += count


def reference_totals(model: Model, examples: list[Example], pieces: str) -> tuple[Totals, Totals]:
    """Sums and counts, and the same of what accuracy is tested against."""
    totals: Totals = defaultdict(lambda: [0.0, 0.0])
    matched: Totals = defaultdict(lambda: [0.0, 0.0])
    known = [Annotated(*pair) for pair in zip(texts(model, examples), examples, strict=True)]
    for name, linked in (("dependencies", trees), ("links", links)):
        corpus = [(one, linked(one.example)) for one in known]
        for item, rate in slow.linking(name, corpus, pieces):
            collect([item], totals)
            collect([(*item[:3], rate, 1)], matched)
    for one in known:
        collect(slow.linguistic_features(one, features(one.example)), totals)
        collect(slow.token_to_token(one, features(one.example)), totals)
        collect(slow.frames(one, placements(one)), totals)
    windows = joined(examples)
    for pair in zip(texts(model, windows), windows, strict=True):
        collect(slow.coreference(Annotated(*pair), kinds(pair[1])), totals)
    return totals, matched


def pool(totals: Totals) -> None:
    """What the tables also report: a relation with its subtypes, and all together."""
    exact = [(key, tuple(total)) for key, total in totals.items()]
    for (what, layer, head), (amount, count) in exact:
        name, statistic, group, direction = what
        groups = []
        if name == "dependencies" and group == "nsubj:pass":
            groups.append("nsubj")
        if name == "links" or (name == "dependencies" and group != "punct"):
            groups.append("all")
        for other in groups:
            total = totals[(name, statistic, other, direction), layer, head]
            total[0] += amount
            total[1] += count


def check(results: RunResults, totals: Totals, tolerance: float) -> int:
    seen = set()
    gains = {
        (row.group, row.place): row.value
        for row in results.rows(HEADS, analysis="coreference", statistic="gain")
        if row.head is not None
    }
    for row in results.rows(HEADS):
        what = (row.analysis, row.statistic, row.group, row.direction)
        if row.statistic == "gain" and row.head is not None and row.baseline is not None:
            assert row.baseline == 0
        if row.head is None or row.statistic == "gain":
            continue
        key = (what, *row.place)
        amount, count = totals[key]
        assert row.n == count, what
        slack = 1.5 / count if row.statistic == "accuracy" and tolerance > 1e-5 else tolerance
        assert row.value == pytest.approx(amount / count, abs=slack), (what, row)
        base = {"weight": "matched", "largest": "elsewhere"}.get(row.statistic, "")
        beside = ((what[0], base, what[2], what[3]), *row.place)
        if row.analysis == "linguistic_features" or (
            row.analysis == "token_to_token" and row.statistic == "largest"
        ):
            beside = (what, row.place[0], -1)
        if row.analysis == "coreference":
            rules = [((what[0], rule, what[2], what[3]), row.place[0], -1) for rule in slow.RULES]
            beside = max(rules, key=lambda rule: totals[rule][0])
            assert row.baseline is not None
            gain = gains[row.group, row.place]
            assert gain == pytest.approx(row.value - row.baseline), (what, row)
        if beside in totals and totals[beside][1]:
            expected = totals[beside][0] / totals[beside][1]
            assert row.baseline == pytest.approx(expected, abs=tolerance), (what, row)
        seen.add(key)
    there = {
        key
        for key, (_, n) in totals.items()
        if n and key[2] >= 0 and key[0][1] not in ("matched", "elsewhere")
    }
    assert seen == there
    return len(seen)


@pytest.mark.parametrize("family", ["bert", "gpt2", "modernbert", "mpnet"])
@pytest.mark.parametrize("pieces", ["mean", "first"])
def test_annotation_equals_the_reference(family: str, pieces: str) -> None:
    rng = np.random.default_rng(7)
    examples = [sentence(number, rng) for number in range(24)]
    settings = Settings(min_count=1, pieces=pieces)
    model = tiny(family)
    names = [name for name in NAMES if pieces == "mean" or name in ("dependencies", "links")]
    results = scan(model, corpus_of(examples), only=names, settings=settings, progress=NoProgress())
    totals, matched = reference_totals(model, examples, pieces)
    pool(totals)
    for key in list(totals):
        if key[0][0] not in names:
            del totals[key]
    assert check(results, totals, 3e-6) > 100
    assert_offsets(model, examples, results)
    assert_matched(model, examples, settings, matched)


def assert_offsets(model: Model, examples: list[Example], results: RunResults) -> None:
    """The baseline is the best fixed offset of the relation."""
    known = [Annotated(*pair) for pair in zip(texts(model, examples), examples, strict=True)]
    corpus = [(one, trees(one.example)) for one in known]
    groups = {name: {name} for name in RELATIONS} | {"nsubj": {"nsubj", "nsubj:pass"}}
    for row in results.rows(HEADS):
        wanted = (row.analysis, row.statistic) == ("dependencies", "accuracy")
        if wanted and (row.layer, row.head) == (0, 0) and row.group in groups:
            back = row.direction == "head-row"
            share = slow.best_offset(corpus, groups[row.group], back)
            assert row.baseline == pytest.approx(share, abs=1e-9), row


def assert_matched(
    model: Model, examples: list[Example], settings: Settings, matched: Totals
) -> None:
    """What accuracy is tested against is not in a table: look into the analysis."""
    from headscope.analyses import choose
    from headscope.experiments.scan.passes import Pass, Together
    from headscope.experiments.scan.reading import survey

    (kind,) = choose(["dependencies"])
    corpus = corpus_of(examples)
    surveyed = survey(model, corpus, [kind], settings, NoProgress())
    single = Pass(model, corpus, surveyed, [kind], settings, NoProgress())
    (analysis,) = single.restore(Together([single]).work(next(single.shards())))
    for statistic in analysis.statistics():
        if statistic.name == "accuracy":
            assert statistic.null is not None
            ratio = statistic.null.tally.ratio()
            for place, group in enumerate(statistic.groups):
                what = ("dependencies", "accuracy", group, statistic.direction)
                for layer, head in np.ndindex(*ratio.shape[:2]):
                    amount, count = matched[what, layer, head]
                    if count and group in ("det", "obj"):
                        value = ratio[layer, head, place]
                        assert value == pytest.approx(amount / count, abs=1e-6)


def test_annotation_equals_the_reference_on_minilm(minilm: Model) -> None:
    examples = [one for one in read("tour") if len(one.words) <= 9][:8]
    examples = [replace(one, document=None, mentions=()) for one in examples]
    results = scan(
        minilm,
        corpus_of(examples),
        only=["dependencies"],
        settings=Settings(min_count=1),
        progress=NoProgress(),
    )
    totals: Totals = defaultdict(lambda: [0.0, 0.0])
    known = [Annotated(*pair) for pair in zip(texts(minilm, examples), examples, strict=True)]
    corpus = [(one, trees(one.example)) for one in known]
    collect((item for item, _ in slow.linking("dependencies", corpus, "mean")), totals)
    for row in results.rows(HEADS):
        what = (row.analysis, row.statistic, row.group, row.direction)
        if row.head is not None and (what, *row.place) in totals:
            amount, count = totals[what, *row.place]
            if row.n == count:  # pooled groups have more
                assert row.value == pytest.approx(amount / count, abs=1e-9), what


def test_head_row_asks_a_word_once_for_each_relation_of_its_dependents() -> None:
    """Two determiners of one noun are one case, either of which is right; `all` adds relations up,
    and no head can answer more of its questions than there are words with dependents.
    """
    tree = Example(
        "1",
        words=("ab", "cd", "kaka", "lele", "ab", "fa", "."),
        heads=(2, 2, 3, -1, 5, 3, 3),
        relations=("det", "det", "nsubj", "root", "det", "obj", "punct"),
    )
    examples = [replace(tree, id=str(number)) for number in range(12)]
    model = tiny("bert")
    results = scan(
        model,
        corpus_of(examples),
        only=["dependencies"],
        settings=Settings(min_count=1),
        progress=NoProgress(),
    )
    rows = [row for row in results.rows(HEADS, statistic="accuracy") if row.head is not None]
    n = {(row.group, row.direction): row.n / 12 for row in rows}
    assert (n["det", "row"], n["det", "column"], n["det", "head-row"]) == (3, 3, 2)
    assert (n["all", "row"], n["all", "head-row"]) == (5, 4)  # of kaka, fa; twice of lele
    assert (
        max(row.value for row in rows if (row.group, row.direction) == ("all", "head-row")) <= 3 / 4
    )
    (text,) = texts(model, [tree])
    known = Annotated(text, tree)
    around = slow.asked(known, trees(tree))[True]
    assert around[2, "det"] == {0, 1}
    assert [word for word, label in around if label != "punct"] == [2, 5, 3, 3]
    totals: Totals = defaultdict(lambda: [0.0, 0.0])
    pairs = slow.linking("dependencies", [(known, trees(tree))], "mean")
    collect((item for item, _ in pairs), totals)
    pool(totals)
    for row in rows:
        hits, count = totals[("dependencies", "accuracy", row.group, row.direction), *row.place]
        assert row.value == pytest.approx(hits / count)
        assert row.n == 12 * count


def test_the_tour_has_the_questions_that_the_docs_say() -> None:
    """docs/evidence.md: 1,653 questions of head-row, asked of 715 words."""
    asked = {
        (example.id, head, relation)
        for example in read("tour")
        for head, relation in zip(example.heads, example.relations, strict=True)
        if head >= 0 and relation != "punct"
    }
    words = {(text, head) for text, head, _ in asked}
    assert (len(asked), len(words)) == (1653, 715)
