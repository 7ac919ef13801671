"""The verb `reproduce`, from the command to the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.evidence import HEADS
from headscope.experiments.reproduce import reproduce
from headscope.experiments.reproduce.page import markdown_page
from headscope.experiments.reproduce.tables import REPRODUCED, ReproducedRow, Verdict
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from tests.commands import run_headscope

TOUR = {"coreference": "tour", "treebank": "tour"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduced")


def row_of(rows: list[ReproducedRow], row: str, column: str) -> ReproducedRow:
    (found,) = (one for one in rows if (one.row, one.column) == (row, column))
    return found


def test_table_2_has_the_best_head_of_a_scan_and_its_rules(minilm: Model) -> None:
    results = reproduce(
        "clark2019", "table2", model=minilm, inputs=TOUR, data="nowhere", progress=NoProgress()
    )
    rows = results.rows(REPRODUCED)
    settings = Settings(max_length=128, min_count=1, untrained=0)
    scanned = scan(
        minilm, "tour", only=["coreference"], settings=settings, progress=NoProgress()
    ).rows(HEADS)
    found = [row for row in scanned if (row.statistic, row.group) == ("accuracy", "all")]
    best = max((row for row in found if row.head is not None), key=lambda row: row.value)
    ours = row_of(rows, "Head 5-4", "All")
    assert ours.value == pytest.approx(100 * best.value)
    assert ours.n == best.n
    assert ours.difference == pytest.approx(100 * best.value - 65)
    sieve = next(row for row in scanned if (row.statistic, row.group) == ("sieve", "pronoun"))
    assert row_of(rows, "Rule-based", "Pronoun").value == pytest.approx(100 * sieve.value)
    other = row_of(rows, "Neural coref", "All")
    assert (other.verdict, other.ours) == (Verdict.CANNOT, None)
    assert other.because == "a system of other authors, not a head"
    assert {row.because for row in rows if row.verdict == Verdict.DIFFERS} <= {
        "other data",
        "another model; other data",
    }


def test_what_is_not_here_is_said_number_by_number(minilm: Model) -> None:
    results = reproduce(
        "clark2019",
        "table1",
        "table2",
        model=minilm,
        inputs={"coreference": "tour"},
        data="nowhere",
        progress=NoProgress(),
    )
    reasons = {row.because for row in results.rows(REPRODUCED) if row.where == "Table 1"}
    assert reasons == {"a treebank in Stanford Dependencies is not here (--input treebank=...)"}


def test_a_command_writes_tables_a_page_and_markdown_and_is_resumed(folder: Path) -> None:
    typed = [
        *("reproduce", "clark2019", "table2", "section4.1", "--model", "minilm", "--data", "none"),
        *("--input", "coreference=tour", "--input", "treebank=tour", "--limit", "200", "-o", "run"),
    ]
    done = run_headscope([*typed, "--markdown", "page.md"], folder)
    assert done.returncode == 0, done.stderr
    assert "Rule-based" in done.stdout
    assert "words split by the tokenizer" in done.stdout
    assert "another model; other data; only 200 texts" in done.stdout
    page = (folder / "page.md").read_text(encoding="utf-8")
    assert re.search(r"\| Head 5-4, Pronoun \(% antecedent accuracy\) \| 64 \| \d+", page)
    assert "- 1 not computed: a system of other authors, not a head" in page
    report = (folder / "run" / "report.html").read_text(encoding="utf-8")
    assert "What Does BERT Look At?" in report
    again = run_headscope([*typed, "--markdown", "again.md", "--beside", "run"], folder)
    assert again.returncode == 0, again.stderr
    both = (folder / "again.md").read_text(encoding="utf-8")
    assert "| number | published | minilm, 200 texts | minilm, 200 texts |" in both
    assert markdown_page([hs.open(folder / "run")]) == page


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["reproduce", "clark2018", "-o", "new"], "did you mean 'clark2019'?"),
        (["reproduce", "clark2019", "table9", "-o", "new"], "clark2019 has no 'table9'"),
        (["reproduce", "voita2019", "-o", "new"], "the models of voita2019 were not published"),
        (["reproduce", "clark2019", "--input", "x", "-o", "new"], "is not NAME=DATA"),
        (
            [
                "reproduce",
                "clark2019",
                "table2",
                "--model",
                "minilm",
                "--data",
                "none",
                "-o",
                "new",
            ],
            "nothing of clark2019 can be computed",
        ),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_nothing(
    typed: list[str], message: str, folder: Path
) -> None:
    done = run_headscope(typed, folder)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "new").exists()


MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(
    f"{n % 2}\t{n}\t{n}\tIt {verb}.\tIt {verb if n % 2 else 'sings'}.\n"
    for n, verb in enumerate(("rains", "snows", "ends", "falls", "sleeps", "works", "goes", "is"))
)


def test_a_fine_tuned_model_is_scored_watched_and_ablated(folder: Path) -> None:
    glue = folder / "glue" / "MRPC"
    glue.mkdir(parents=True)
    for part in ("train", "dev"):
        (glue / f"{part}.tsv").write_text(MRPC, encoding="utf-8")
    tables = ("table1", "figure2", "figure9")
    results = reproduce(
        "kovaleva2019",
        *tables,
        model="minilm",
        inputs={"glue": folder / "glue"},
        out=folder / "kovaleva",
        progress=NoProgress(),
    )
    rows = results.rows(REPRODUCED)
    mrpc = [row for row in rows if "MRPC" in row.row and row.computed]
    assert {row.where for row in mrpc} == {"Table 1", "Figure 2", "Figure 9"}
    shapes = [row.value or 0.0 for row in mrpc if row.where == "Figure 2"]
    assert len(shapes) == 5
    assert sum(shapes) == pytest.approx(100)
    others = {row.because for row in rows if "SST-2" in row.row and not row.computed}
    assert "glue has no train part of sst-2" in others
