"""The strongest simple baseline on the page, and whether heads do elsewhere what they do here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.roles_predict import chosen_heads, scan_trees, seen_again, table, totals

from headscope import read, scan
from headscope._util.progress import NoProgress
from headscope.analyses._linking.section import AGAIN, relations
from headscope.evidence import BEST, HEADS
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.report.catalogue import role_rules
from headscope.report.sections import Section
from headscope.report.seen_again import OtherCorpora
from headscope.report.views import CorpusView
from headscope.runs import RunResults

RULES = ("nearest", "head_match", "sieve")


@pytest.fixture(scope="module")
def twice(minilm: Model) -> RunResults:
    """The tour, the same texts under another name, and a part of them that is too small."""
    tour = read("tour")
    corpora = tour, replace(tour, name="again"), replace(tour, name="part", limit=40)
    only = ["dependencies", "coreference"]
    return scan(minilm, *corpora, only=only, settings=Settings(min_count=20), progress=NoProgress())


def section_of(results: RunResults, corpus: str, analysis: str) -> Section:
    section = CorpusView(results, corpus, "trained").section(analysis)
    assert section is not None
    return section


def test_the_baseline_of_antecedents_is_the_strongest_rule(twice: RunResults) -> None:
    place = {"corpus": "tour", "analysis": "coreference"}
    by_rule = {
        (name, row.group): row.value
        for name in RULES
        for row in twice.rows(HEADS, statistic=name, **place)
    }
    gains = {row.group: row for row in twice.rows(BEST, statistic="gain", **place)}
    rows = twice.rows(BEST, statistic="accuracy", **place)
    assert len(rows) == 4
    for row in rows:
        strongest = max(by_rule[name, row.group] for name in RULES)
        assert row.baseline == pytest.approx(strongest)
        assert gains[row.group].value == pytest.approx(row.value - strongest)
        assert gains[row.group].place == row.place


def test_the_page_speaks_of_the_strongest_rule(twice: RunResults) -> None:
    """On the tour a head finds the antecedents of pronouns better than the sieve does."""
    section = section_of(twice, "tour", "coreference")
    assert "(pronoun), and beats the sieve (56.1%)" in section.finding
    lines = {str(row[0]): row[1:] for row in section.cells}
    undecided = [cell for cell in lines["above the strongest rule"] if "undecided" in cell.note]
    assert len(undecided) == 3
    assert lines["above the strongest rule"][1].strong
    part = section_of(twice, "part", "coreference")
    assert part.finding.startswith("Undecided: ")
    assert "groups of documents are too few to tell whether" in part.finding
    relations_of_part = section_of(twice, "part", "dependencies")
    assert relations_of_part.finding.startswith("Undecided: at most ")
    assert [below.title for below in relations_of_part.below][2].startswith("Undecided")


def test_the_same_texts_under_another_name_show_the_same(twice: RunResults) -> None:
    section = section_of(twice, "tour", "dependencies")
    (sure, *_) = section.below
    assert sure.columns[-1].startswith(AGAIN)
    frequent = [row for row in sure.cells if int(row[-2].text.replace(",", "")) >= 100]
    assert frequent
    for row in sure.cells:
        if row in frequent:
            passed, _, known = map(int, row[-1].text.replace("of", "0").split())
            assert 1 <= passed <= known <= 2  # under the other name at least
        else:
            assert row[-1].text == "–"


def test_one_corpus_has_no_others(minilm: Model) -> None:
    alone = scan(minilm, read("tour"), only=["dependencies"], progress=NoProgress())
    assert AGAIN not in str(section_of(alone, "tour", "dependencies").below[0].columns)


def test_other_schemes_are_not_looked_at(minilm: Model, data: Path) -> None:
    paths = (
        "ud/en_ewt-ud-dev.conllu.gz",
        "ud/en_pud-ud-test.conllu.gz",
        "wsj/wsj_0001-0199.sd-basic.conllx.gz",
    )
    corpora = [read(data / path, limit=300) for path in paths]
    results = scan(minilm, *corpora, only=["dependencies"], progress=NoProgress())
    (rule,) = (rule for name, rule in role_rules() if name == "dependencies")
    others = [
        OtherCorpora(view, rule, "dependencies").corpora
        for view in (CorpusView(results, name, "trained") for name in results.corpora)
    ]
    assert others == [["en_pud-ud-test"], ["en_ewt-ud-dev"], []]


def test_heads_chosen_on_one_treebank_are_scored_on_another(minilm: Model, data: Path) -> None:
    first, other = (
        scan_trees(minilm, read(data / "ud" / f"{name}.conllu.gz", limit=300))
        for name in ("en_ewt-ud-dev", "en_pud-ud-test")
    )
    chosen = chosen_heads(first)
    again = {"here": seen_again(chosen, first), "there": seen_again(chosen, other)}
    assert again["here"].keys() == {relation.name for relation in chosen}
    for relation in relations(other, other.corpora[0], "trained", "dependencies"):
        assert relation.name in again["there"] or relation.name not in again["here"]
    det = again["there"]["det"]
    assert det.beats
    assert det.accuracy.name == next(one.best.head for one in chosen if one.name == "det")
    lines = list(table(chosen, again, "here"))
    assert len(lines) == 2 + len(chosen)
    assert all(line.count("|") == lines[0].count("|") for line in lines)
    sure = sum(relation.best.sure for relation in chosen)
    assert next(iter(totals(chosen, again))).startswith(f"here: of {sure} heads that beat")
