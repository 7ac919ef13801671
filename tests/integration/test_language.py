"""What heads know about language, as a user meets it: tables, links, several languages, windows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headscope import Settings, read, scan
from headscope._util.naming import head_name
from headscope._util.progress import NoProgress
from headscope.analyses import choose
from headscope.analyses._linking.facts import LinkFacts
from headscope.analyses._linking.joined_section import across_corpora
from headscope.analyses._linking.offsets import FIXED
from headscope.analyses._linking.section import relations
from headscope.corpus import Link
from headscope.errors import HeadscopeError
from headscope.evidence import HEADS
from headscope.evidence.example_tables import ARCS
from headscope.experiments.scan.reading import survey
from headscope.model import Model
from headscope.report.head_roles import head_roles, labels
from headscope.report.sections import Cell
from headscope.report.views import CorpusView
from headscope.runs import RunResults
from tests.tiny import tiny
from tests.unit.examples import corpus_of

CLARK = {  # data/published/clark2019.md: the best fixed offset, and how often it is right
    "det": (1, 51.7),
    "dobj": (-2, 40.0),
    "amod": (1, 68.3),
    "nsubj": (1, 45.5),
    "pobj": (-2, 34.6),
    "prep": (-1, 61.8),
    "nn": (1, 70.2),
    "aux": (1, 71.5),
    "cc": (-1, 41.2),
    "conj": (-2, 26.8),
    "possessive": (-1, 98.8),
    "cop": (1, 40.5),
    "auxpass": (1, 82.5),
    "pcomp": (-1, 79.2),
    "neg": (1, 68.3),
    "prt": (-1, 91.4),
    "nsubjpass": (2, 43.7),
    "rcmod": (-3, 26.6),
    "poss": (1, 47.7),
}


@pytest.fixture(scope="module")
def tour(minilm: Model) -> RunResults:
    return scan(minilm, read("tour"), settings=Settings(min_count=20), progress=NoProgress())


def test_offsets_of_the_wsj_are_clark_s(minilm: Model, data: Path) -> None:
    """A check on reader and rule: the same offsets, within five points."""
    corpus = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz")
    settings = Settings(
        max_length=minilm.max_length, options={"dependencies": {"possessive": True}}
    )
    surveyed = survey(minilm, corpus, choose(["dependencies"]), settings, NoProgress())
    facts = surveyed.facts["dependencies"]
    assert isinstance(facts, LinkFacts)
    hits, cases = facts.centres[0].fixed_hits(len(facts.labels))
    shares = hits.sum(0) / cases.sum(0)  # (offset, label)
    for relation, (offset, share) in CLARK.items():
        column = shares[:, facts.labels[relation]]
        assert FIXED[int(column.argmax())] == offset, relation
        assert 100 * column.max() == pytest.approx(share, abs=5), relation


def test_the_best_head_for_a_relation(tour: RunResults) -> None:
    best = tour.best("dependencies", "det")
    assert (best.row.direction, best.row.group) == ("row", "det")
    assert best.row.baseline is not None
    assert best.value > best.row.baseline
    assert "baseline 83.6%" in repr(best)
    assert tour.best("dependencies", "case").row.direction == "column"
    other = tour.best("dependencies", "det", direction="head-row")
    assert other.row.direction == "head-row"
    with pytest.raises(HeadscopeError, match="no such number"):
        tour.best("dependencies", "nonsense")


def test_tables_agree_with_the_rows(tour: RunResults) -> None:
    every, *others = relations(tour, "tour", "trained", "dependencies")
    assert every.name == "all"
    assert [relation.n for relation in others] == sorted(
        (relation.n for relation in others), reverse=True
    )
    by_name = {relation.name: relation for relation in others}
    assert by_name["det"].best.accuracy == tour.best("dependencies", "det").row
    assert by_name["det"].offset == "+1"
    assert by_name["nsubj"].n > by_name["nsubj:pass"].n  # a relation includes its subtypes
    section = CorpusView(tour, "tour", "trained").section("coreference")
    assert section is not None
    columns = (column.rstrip(")").split(" (") for column in section.columns[1:])
    groups, counts = zip(*columns, strict=True)
    assert groups == ("all", "pronoun", "proper", "nominal")
    total, *parts = map(int, counts)
    assert total == sum(parts)


def test_arcs_are_those_of_the_annotation(tour: RunResults) -> None:
    examples = {example.id: example for example in read("tour")}
    seen = 0
    for row in tour.rows(ARCS, analysis="dependencies"):
        example = examples[row.example]
        assert tuple(row.words) == example.words
        columns = zip(row.source, row.gold, row.drawn, row.right, strict=True)
        for source, gold, drawn, right in columns:
            assert -1 <= drawn < len(example.words)
            assert drawn != source
            assert right == (drawn in gold)
            if row.direction == "head-row":
                assert all(example.heads[word] == source for word in gold)
            else:
                assert gold == [example.heads[source]]
            seen += 1
    assert seen > 200
    frames = tour.rows(ARCS, analysis="frames")
    assert {row.choice for row in frames} == {"highest", "typical", "lowest"}
    for row in frames:
        targets = {frame.target for frame in examples[row.example].frames}
        assert all(word in targets for gold in row.gold for word in gold)


def test_what_the_annotation_does_not_allow_is_left_out_and_said() -> None:
    model = tiny("bert")
    examples = list(read("tour", limit=12))
    plain = corpus_of(
        [replace(example, heads=(), relations=(), mentions=(), frames=()) for example in examples]
    )
    left_out = scan(model, plain, progress=NoProgress()).record.left_out["made"]
    whole = {"coreference", "dependencies", "frames", "links", "token_to_token"}
    parts = {"linguistic_features of subjects, objects", "repetition", "alignment"}
    nothing = {"share of rare_words"}  # every word is frequent in so few texts
    assert set(left_out) == whole | parts | nothing
    assert left_out["dependencies"] == "the corpus has no syntactic heads and relations"
    with pytest.raises(HeadscopeError, match="frames cannot be done on made: the corpus has no"):
        scan(model, plain, only=["frames"], progress=NoProgress())
    twice = (Link(0, 1, "x"), Link(0, 1, "x"))
    linked = corpus_of([replace(example, links=twice) for example in examples], name="linked")
    settings = Settings(min_count=10)
    both = scan(model, linked, plain, only=["links"], settings=settings, progress=NoProgress())
    assert both.corpora == ["linked"]
    assert both.best("links", "x").row.baseline == 1  # given twice, it is one link
    few = scan(model, linked, only=["links", "focus"], progress=NoProgress())
    assert few.record.left_out["linked"]["links"] == "it has 12 links and --min-count is 100"


def test_negations_are_found_in_plain_text(minilm: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("This is not it.\nThis is it.\n" * 6, encoding="utf-8")
    results = scan(minilm, read(path), only=["linguistic_features"], progress=NoProgress())
    assert results.best("linguistic_features", "negation", direction="from all").row.n == 6
    with pytest.raises(HeadscopeError, match="which direction of linguistic_features"):
        results.best("linguistic_features", "negation")


def test_any_links_as_json_lines(minilm: Model, tmp_path: Path) -> None:
    """Links to the previous word are what the previous-token head finds."""
    lines = []
    for example in read("tour", limit=30):
        links = [[word, word - 1, "before"] for word in range(1, len(example.words))]
        lines.append(json.dumps({"words": example.words, "links": links}))
    path = tmp_path / "links.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    results = scan(minilm, read(path), only=["links"], progress=NoProgress())
    best = results.best("links", "before")
    assert (best.layer, best.head) == (0, 2)
    assert best.value > 0.9
    assert best.row.baseline == 1.0  # the best fixed offset is always right
    assert not relations(results, "links", "trained", "links")[0].best.sure


def test_the_possessive_rule_and_all_words_change_what_is_asked(minilm: Model, data: Path) -> None:
    corpus = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz", limit=300)
    changed = {"possessive": True, "all_words": True, "clip_offsets": True}
    scans = (
        scan(
            minilm,
            corpus,
            only=["dependencies"],
            settings=Settings(max_length=512, min_count=20),
            options={"dependencies": options},
            progress=NoProgress(),
        )
        for options in ({}, changed)
    )
    before, after = (
        {
            relation.name: relation
            for relation in relations(results, corpus.name, "trained", "dependencies")
        }
        for results in scans
    )
    assert before["all"].n < after["all"].n == sum(len(example.words) for example in corpus)
    assert before["poss"].n == after["poss"].n
    assert before["poss"].best.accuracy.value < after["poss"].best.accuracy.value
    assert after["det"].baseline == before["det"].baseline  # a determiner is never the last word
    assert "root" not in after


def test_windows_are_as_long_as_allowed(minilm: Model) -> None:
    whole, short = (
        scan(
            minilm,
            read("tour"),
            only=["coreference"],
            settings=Settings(max_length=length),
            progress=NoProgress(),
        )
        for length in (None, 60)
    )
    windows = whole.record.corpora[0].windows
    assert windows is not None
    assert windows.examples == 14
    assert windows.limit == 512
    windows = short.record.corpora[0].windows
    assert windows is not None
    assert windows.examples > 40
    assert windows.longest <= 60
    assert windows.lost == 0
    counts = [results.best("coreference", "all").row.n for results in (whole, short)]
    assert counts[0] > counts[1] > 50


def test_several_languages_in_one_table(minilm: Model, data: Path) -> None:
    languages = ("en", "de", "fi")
    corpora = [read(data / "ud" / f"{name}_pud-ud-test.conllu.gz", limit=150) for name in languages]
    settings = Settings(max_length=512, min_count=80)
    results = scan(
        minilm, *corpora, only=["dependencies"], settings=settings, progress=NoProgress()
    )
    (section,) = across_corpora([results])
    assert section.columns == ("relation", *(f"{name}_pud-ud-test" for name in languages))
    table = {str(row[0]): row[1:] for row in section.rows}
    assert {"all", "nsubj", "amod"} <= set(table)
    assert table["det"][-1] == "–"  # Finnish has no articles
    assert isinstance(table["nsubj"][-1], Cell)
    (kept,) = section.below
    for _, relation, _, count, *cells in kept.rows:
        held, asked = map(int, str(count).split(" of "))
        assert 2 <= held <= asked
        numbers = [cell for cell in cells if isinstance(cell, Cell)]
        assert sum(cell.strong for cell in numbers) == held
        assert len(numbers) == asked
        assert asked == sum(isinstance(cell, Cell) for cell in table[str(relation)])
    assert not list(
        across_corpora([scan(minilm, corpora[0], only=["focus"], progress=NoProgress())])
    )


def test_heads_that_keep_their_role_across_corpora(minilm: Model) -> None:
    """The same texts under two names: every syntactic head keeps its roles."""
    corpora = read("tour"), replace(read("tour"), name="again")
    settings = Settings(min_count=20)
    results = scan(
        minilm, *corpora, only=["dependencies"], settings=settings, progress=NoProgress()
    )
    (section,) = across_corpora([results])
    (kept,) = section.below
    roles = head_roles(results, "again")
    assert roles
    assert {tuple(map(str, row[:3])) for row in kept.rows} == {
        (head_name(*role.place), role.row.group, role.row.direction) for role in roles
    }
    for *_, count, first, second in kept.rows:
        assert count == "2 of 2"
        assert first == second
        assert isinstance(first, Cell)
        assert first.strong


def test_labels_of_the_literature(tour: RunResults) -> None:
    earned = labels(head_roles(tour, "tour"))
    names = {(label.name, label.head) for label in earned}
    assert ("positional", "L0.H2") in names
    assert ("syntactic", "L2.H8") in names
    gains = tour.rows(HEADS, statistic="gain")
    for label in earned:
        if label.name == "syntactic":
            mine = [row.value for row in gains if f"L{row.layer}.H{row.head}" == label.head]
            assert max(mine) >= 0.1


def test_shards_merge_to_the_same_arcs_and_tables(minilm: Model) -> None:
    whole, parts = (
        scan(
            minilm,
            read("tour", limit=60),
            only=["dependencies", "frames", "coreference"],
            settings=Settings(shard=size, min_count=5),
            progress=NoProgress(),
        )
        for size in (1024, 7)
    )
    tolerances = {"dependencies": 1e-9, "coreference": 1e-9, "frames": 1e-6}
    for analysis, tolerance in tolerances.items():  # frames sum weights, and batches are others
        one, other = (
            np.array([(row.value, row.n) for row in results.rows(HEADS, analysis=analysis)])
            for results in (whole, parts)
        )
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    assert whole.table("arcs").equals(parts.table("arcs"))
