"""A package outside headscope reaches the command line, the run folder, the page and the cards."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import Completed, run_headscope, run_python
from tests.pages import page_views, sentences

SAMPLE = Path(__file__).parents[1] / "plugins" / "sample"
PAIRS = "id\tsentence1\tsentence2\tscore\n" + "".join(
    f"{n}\tThe cat sat {n}.\tA cat sat down {n}.\t{n % 6}\n" for n in range(12)
)


@dataclass(frozen=True)
class Headscope:
    """The command line with the sample installed, in a folder of its own."""

    home: Path
    paths: list[Path]

    def __call__(self, *arguments: str) -> Completed:
        done = run_headscope(list(arguments), self.home, self.paths)
        assert done.returncode == 0, done.stderr
        return done


def declare(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """What an installed package leaves behind: its entry points."""
    info = folder / f"{name}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def headscope(tmp_path_factory: pytest.TempPathFactory) -> Headscope:
    """The command line with the sample installed, in a folder of its own."""
    site, home = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("home")
    project = tomllib.loads((SAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declare(site, "headscope_sample", project["entry-points"])
    (site / "broken_plugin.py").write_text("raise RuntimeError('not today')\n")
    declare(site, "broken_plugin", {"headscope.analyses": {"broken": "broken_plugin"}})

    run = Headscope(home, [SAMPLE, site])
    (home / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    (home / "poems.verses").write_text("Rose, oh pure\n\nA rose is a rose\n" * 8, encoding="utf-8")
    run("scan", "minilm", "tour", "--only", "reach,focus", "--reach-cap", "9", "-o", "scan")
    run("word-order", "minilm", "tour", "--limit", "6", "-o", "order")
    run("report", "order", "scan", "-o", "page.html")
    return run


def test_an_analysis_reaches_the_run_folder(headscope: Headscope) -> None:
    folder = headscope.home / "scan"
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["units"]["tokens"]["axis"] == "tokens away"
    assert record["study"]["options"]["options"]["reach"] == {"cap": 9}
    table = pq.read_table(folder / "reach.parquet")
    assert table.column_names == ["corpus", "weights", "layer", "mean", "farthest"]
    assert table.num_rows == 6
    heads = pq.read_table(folder / "heads.parquet").to_pylist()
    reach = [row for row in heads if row["analysis"] == "reach" and row["head"] is not None]
    assert len(reach) == 72
    assert all(0 <= row["value"] <= 9 and row["baseline"] > 0 for row in reach)


def test_an_analysis_reaches_the_page_and_the_cards(headscope: Headscope) -> None:
    page = (headscope.home / "scan" / "report.html").read_text(encoding="utf-8")
    assert re.search(r'<p class="kicker">Reach: minilm', page)
    view = page_views(page)[0]
    said = [line for head in view["heads"] for line in sentences(view, head)]
    assert any("tokens away on average" in line for line in said)
    roles = json.loads(headscope("roles", "scan", "--json").stdout)
    assert any(role["role"] == "far-sighted" for role in roles)


def test_an_option_is_on_the_command_line_in_two_ways(headscope: Headscope) -> None:
    shown = headscope("scan", "--help").stdout
    assert "--reach-cap" in shown
    headscope(
        "scan", "minilm", "tour", "--only", "reach,focus", "--set", "reach.cap=9", "-o", "scan"
    )


def test_an_experiment_has_a_verb_a_section_and_card_lines(headscope: Headscope) -> None:
    assert "word-order" in headscope("--help").stdout
    folder = headscope.home / "order"
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["study"]["experiment"] == "word_order"
    assert record["texts"] == 6
    assert pq.read_table(folder / "word_order.parquet").num_rows == 72
    page = (headscope.home / "page.html").read_text(encoding="utf-8")
    assert re.search(r"<h1>L\d\.H\d+ loses most without the order of words</h1>", page)
    assert "&#34;kind&#34;: &#34;strip&#34;" in page
    view = page_views(page)[0]
    (rise,) = (other for other in view["others"] if other["title"] == "rise without order")
    assert len(rise["rows"]) == 72
    said = " ".join(line for head in view["heads"] for line in sentences(view, head))
    assert said.count("With its words shuffled its entropy changes by") >= 72


def test_a_task_serves_every_experiment(headscope: Headscope) -> None:
    headscope("ablate", "minilm", "rating:pairs.tsv", "--heads", "L0.H0", "-o", "ablation")
    table = pq.read_table(headscope.home / "ablation" / "ablation.parquet").to_pylist()
    assert [(row["task"], row["metric"]) for row in table] == [("rating:pairs.tsv", "Pearson")]


def test_a_reader_is_known_by_name_and_ending(headscope: Headscope) -> None:
    headscope("scan", "minilm", "poems.verses", "--only", "focus", "-o", "poems")
    record = json.loads((headscope.home / "poems" / "run.json").read_text(encoding="utf-8"))
    assert record["study"]["data"][0]["reader"] == "verses"
    assert record["corpora"][0]["examples"] == 16


def test_a_broken_plugin_is_reported_in_one_line(headscope: Headscope) -> None:
    done = headscope("scan", "--list")
    assert "reach" in done.stdout
    lines = [line for line in done.stderr.splitlines() if "broken" in line]
    assert len(lines) == 1
    assert "RuntimeError: not today" in lines[0]
    assert "headscope_sample" in headscope("doctor").stdout.replace("-", "_")


SHIFTED = """
from dataclasses import replace
from headscope.corpus import Example
from headscope.model import load
from headscope.model.adapters import base
from headscope.testing import check_adapter, tiny_tokenizer
from headscope_sample.shifted import ShiftedConfig, ShiftedModel

config = ShiftedConfig(vocab_size=177, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                       intermediate_size=48, max_position_embeddings=64)
network, tokenizer = ShiftedModel(config), tiny_tokenizer()
network.save_pretrained("shifted")
tokenizer.model_max_length = 10**9
tokenizer.save_pretrained("shifted")
check_adapter(network, tokenizer)
print(load("shifted").max_length)
base._REGISTERED["sample-shifted"] = replace(base._REGISTERED["sample-shifted"],
                                             reserved_positions=0)
try:
    check_adapter(network, tokenizer)
except AssertionError as error:
    print(error)
"""


def test_an_adapter_makes_a_family_work(headscope: Headscope) -> None:
    done = run_python(SHIFTED, headscope.home, headscope.paths)
    limit, problem = done.stdout.splitlines()
    assert int(limit) == 56
    assert "a text of 64 tokens, which it is said to take, does not run" in problem
    texts = headscope.home / "long.txt"
    texts.write_text("ab " * 200 + "\n" + "cd ef gh\n" * 9)
    options = ["--only", "focus", "--max-length", "56", "-o", "shifted-run"]
    headscope("scan", "shifted", str(texts), *options)
    record = json.loads((headscope.home / "shifted-run" / "run.json").read_text(encoding="utf-8"))
    assert record["study"]["model"]["family"] == "sample-shifted"


def test_without_the_package_the_family_is_unknown(headscope: Headscope) -> None:
    done = run_headscope(["scan", "shifted", "tour", "-o", "none"], headscope.home)
    assert done.returncode == 1
    assert "shifted: cannot be loaded" in done.stderr
    assert not (headscope.home / "none").exists()
