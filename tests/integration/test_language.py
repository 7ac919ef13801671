"""What heads know about language, as a user meets it: tables, links, several languages, windows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from headscope.runs.found import Found

from headscope import Options, read, scan
from headscope._util.progress import NoProgress
from headscope.analyses import choose
from headscope.analyses._linking.facts import LinkFacts
from headscope.analyses._linking.offsets import FIXED
from headscope.corpus import Link, Rules
from headscope.errors import HeadscopeError
from headscope.experiments.scan.passes import survey
from headscope.model import Model
from headscope.report.head_roles import labelled, roles
from tests.tiny import tiny
from tests.unit.examples import corpus_of

CLARK = {  # data/published/clark2019.md: the best fixed offset, and how often it is right
    "det": (1, 51.7), "dobj": (-2, 40.0), "amod": (1, 68.3), "nsubj": (1, 45.5), "pobj": (-2, 34.6),
    "prep": (-1, 61.8), "nn": (1, 70.2), "aux": (1, 71.5), "cc": (-1, 41.2), "conj": (-2, 26.8),
    "possessive": (-1, 98.8), "cop": (1, 40.5), "auxpass": (1, 82.5), "pcomp": (-1, 79.2),
    "neg": (1, 68.3), "prt": (-1, 91.4), "nsubjpass": (2, 43.7), "rcmod": (-3, 26.6),
    "poss": (1, 47.7),
}  # fmt: skip


@pytest.fixture(scope="module")
def tour(minilm: Model) -> Found:
    options = Options(rules=Rules(min_count=20))
    return scan(minilm, read("tour"), options=options, progress=NoProgress())


def test_offsets_of_the_wsj_are_clark_s(minilm: Model, data: Path) -> None:
    """A check on reader and rule: the same offsets, within five points."""
    corpus = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz")
    kinds, rules = choose(["dependencies"]), Rules(possessive=True)
    options = Options(max_length=minilm.max_length, rules=rules)
    found = survey(minilm, corpus, kinds, options, NoProgress()).facts["dependencies"]
    assert isinstance(found, LinkFacts)
    hits, cases = found.centres[0].fixed_hits(len(found.labels))
    shares = hits.sum(0) / cases.sum(0)  # (offset, label)
    for relation, (offset, share) in CLARK.items():
        column = shares[:, found.labels[relation]]
        assert FIXED[int(column.argmax())] == offset, relation
        assert 100 * column.max() == pytest.approx(share, abs=5), relation


def test_the_best_head_for_a_relation(tour: Found) -> None:
    best = tour.best("dependencies", "det")
    assert (best.row["direction"], best.row["group"]) == ("row", "det")
    assert best.row["value"] > best.row["baseline"]
    assert "baseline 83.6%" in repr(best)
    assert tour.best("dependencies", "case").row["direction"] == "column"
    other = tour.best("dependencies", "det", direction="head-row")
    assert other.row["direction"] == "head-row"
    with pytest.raises(HeadscopeError, match="no such number"):
        tour.best("dependencies", "nonsense")


def test_tables_agree_with_the_rows(tour: Found) -> None:
    relations = tour.relations()
    assert relations[0].name == "all"
    assert [one.n for one in relations[1:]] == sorted(
        (one.n for one in relations[1:]), reverse=True
    )
    det = next(one for one in relations if one.name == "det")
    assert det.best.accuracy == tour.best("dependencies", "det").row
    assert det.offset == "+1"
    nsubj = {one.name: one.n for one in relations}
    assert nsubj["nsubj"] > nsubj["nsubj:pass"]  # a relation includes its subtypes
    found = tour.antecedents()
    assert found is not None
    assert found.groups == ["all", "pronoun", "proper", "nominal"]
    assert found.counts[0] == sum(found.counts[1:])


def test_arcs_are_those_of_the_annotation(tour: Found) -> None:
    examples = {one.id: one for one in read("tour")}
    seen = 0
    for row in tour.arcs.to_pylist():
        if row["analysis"] != "dependencies":
            continue
        one = examples[row["example"]]
        assert tuple(row["words"]) == one.words
        columns = (row["source"], row["gold"], row["drawn"], row["right"])
        for source, gold, drawn, right in zip(*columns, strict=True):
            assert -1 <= drawn < len(one.words)
            assert drawn != source
            assert right == (drawn in gold)
            if row["direction"] == "head-row":
                assert all(one.heads[word] == source for word in gold)
            else:
                assert gold == [one.heads[source]]
            seen += 1
    assert seen > 200
    frames = [row for row in tour.arcs.to_pylist() if row["analysis"] == "frames"]
    assert len(frames) == 6
    for row in frames:
        targets = {frame.target for frame in examples[row["example"]].frames}
        assert all(word in targets for gold in row["gold"] for word in gold)


def test_what_the_annotation_does_not_allow_is_left_out_and_said() -> None:
    model = tiny("bert")
    plain = corpus_of([replace(one, heads=(), relations=(), mentions=(), frames=())
                       for one in read("tour", limit=12)])  # fmt: skip
    found = scan(model, plain, progress=NoProgress())
    left_out = found.record["left_out"]["made"]
    whole = {"coreference", "dependencies", "frames", "links", "token_to_token"}
    besides = {"linguistic_features of subjects, objects", "repetition"}
    assert set(left_out) == whole | besides
    assert left_out["dependencies"] == "the corpus has no syntactic heads and relations"
    with pytest.raises(HeadscopeError, match="frames cannot be done on made: the corpus has no"):
        scan(model, plain, only=["frames"], progress=NoProgress())
    linked = corpus_of([replace(one, links=(Link(0, 1, "x"), Link(0, 1, "x")))
                        for one in read("tour", limit=12)], name="linked")  # fmt: skip
    options = Options(rules=Rules(min_count=10))
    both = scan(model, linked, plain, only=["links"], options=options, progress=NoProgress())
    assert both.corpora == ["linked"]
    assert both.best("links", "x").row["baseline"] == 1  # said twice, it is one link
    few = scan(model, linked, only=["links", "focus"], progress=NoProgress())
    assert few.record["left_out"]["linked"]["links"] == "it has 12 links and --min-count is 100"


def test_negations_are_found_in_plain_text(minilm: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("This is not it.\nThis is it.\n" * 6, encoding="utf-8")
    found = scan(minilm, read(path), only=["linguistic_features"], progress=NoProgress())
    assert found.best("linguistic_features", "negation", direction="from all").row["n"] == 6
    with pytest.raises(HeadscopeError, match="which direction of linguistic_features"):
        found.best("linguistic_features", "negation")


def test_any_links_as_json_lines(minilm: Model, tmp_path: Path) -> None:
    """Links to the previous word are what the previous-token head finds."""
    lines = []
    for one in read("tour", limit=30):
        links = [[word, word - 1, "before"] for word in range(1, len(one.words))]
        lines.append(json.dumps({"words": one.words, "links": links}))
    path = tmp_path / "links.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = scan(minilm, read(path), only=["links"], progress=NoProgress())
    best = found.best("links", "before")
    assert (best.layer, best.head) == (0, 2)
    assert best.row["value"] > 0.9
    assert best.row["baseline"] == 1.0  # the best fixed offset is always right
    assert not found.relations(analysis="links")[0].best.sure


def test_the_possessive_rule_and_all_words_change_what_is_asked(minilm: Model, data: Path) -> None:
    corpus = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz", limit=300)
    plain, ruled = (
        scan(minilm, corpus, only=["dependencies"], options=Options(max_length=512, rules=rules),
             progress=NoProgress())
        for rules in (Rules(min_count=20), Rules(min_count=20, possessive=True, all_words=True,
                                                 clip=True))
    )  # fmt: skip
    before, after = ({one.name: one for one in found.relations()} for found in (plain, ruled))
    assert before["all"].n < after["all"].n == sum(len(one.words) for one in corpus)
    assert before["poss"].n == after["poss"].n
    assert before["poss"].best.accuracy["value"] < after["poss"].best.accuracy["value"]
    assert after["det"].baseline == before["det"].baseline  # a determiner is never the last word
    assert "root" not in after


def test_windows_are_as_long_as_allowed(minilm: Model) -> None:
    whole, short = (
        scan(minilm, read("tour"), only=["coreference"], options=Options(max_length=length),
             progress=NoProgress())
        for length in (None, 60)
    )  # fmt: skip
    windows = [one.record["corpora"][0]["windows"] for one in (whole, short)]
    assert windows[0]["examples"] == 14
    assert windows[0]["limit"] == 512
    assert windows[1]["examples"] > 40
    assert windows[1]["longest"] <= 60
    assert windows[1]["lost"] == 0
    counts = [one.best("coreference", "all").row["n"] for one in (whole, short)]
    assert counts[0] > counts[1] > 50


def test_several_languages_in_one_table(minilm: Model, data: Path) -> None:
    languages = ("en", "de", "fi")
    corpora = [read(data / "ud" / f"{one}_pud-ud-test.conllu.gz", limit=150) for one in languages]
    options = Options(max_length=512, rules=Rules(min_count=80))
    found = scan(minilm, *corpora, only=["dependencies"], options=options, progress=NoProgress())
    table = found.across()
    assert table is not None
    assert table.corpora == [f"{one}_pud-ud-test" for one in languages]
    assert {"all", "nsubj", "amod"} <= set(table.relations)
    assert ("det", "fi_pud-ud-test") not in table.best  # Finnish has no articles
    for role in table.roles:
        assert 2 <= len(role.held) <= len(role.asked)
        assert set(role.values) == set(role.asked)
    assert found.across("random") is None
    assert scan(minilm, corpora[0], only=["focus"], progress=NoProgress()).across() is None


def test_labels_of_the_literature(tour: Found) -> None:
    names = {(label.name, label.head) for label in labelled(roles(tour, "tour"))}
    assert ("positional", "L0.H2") in names
    assert ("syntactic", "L2.H8") in names
    gains = [row for row in tour.heads.to_pylist() if row["statistic"] == "gain"]
    for label in labelled(roles(tour, "tour")):
        if label.name == "syntactic":
            mine = [
                row["value"] for row in gains if f"L{row['layer']}.H{row['head']}" == label.head
            ]
            assert max(mine) >= 0.1


def test_shards_merge_to_the_same_arcs_and_tables(minilm: Model) -> None:
    whole, parts = (
        scan(minilm, read("tour", limit=60), only=["dependencies", "frames", "coreference"],
             options=Options(shard=size, rules=Rules(min_count=5)), progress=NoProgress())
        for size in (1024, 7)
    )  # fmt: skip
    numbers = [
        np.array([[row[name] or 0 for name in ("value", "n")] for row in one.heads.to_pylist()])
        for one in (whole, parts)
    ]
    np.testing.assert_allclose(numbers[0], numbers[1], atol=1e-9)
    assert whole.arcs.equals(parts.arcs)
