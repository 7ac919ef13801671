"""Pruning from end to end: curves, the folder, its card, ONNX, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headscope.report.panels import panels
from numpy.typing import NDArray
from transformers import AutoModel, AutoModelForSequenceClassification, BertConfig
from typer.testing import CliRunner

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.cli.main import app
from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.experiments._shared.held_out import CHOICE, TEST, HeldOut
from headscope.experiments.gates.training import Schedule
from headscope.experiments.pruning.compute import Pruning
from headscope.experiments.pruning.orders import Choice, Chooser, Way, named, order_by
from headscope.model import Model, Top, load, remove, wrap
from headscope.model.pruned.onnx import export_onnx, output_difference
from headscope.tasks import Classification, Task, task, two_parts
from tests.tiny import CONFIGS, tiny, tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pruned") / "smaller"
    command = ["prune", "minilm", "tour", "--keep", "50%", "--beside", "", "-o", str(path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "36 of 72 are left" in " ".join(done.output.split())
    return path


def test_the_folder_holds_a_smaller_model_that_does_the_same(folder: Path, minilm: Model) -> None:
    record = json.loads((folder / "run" / "run.json").read_text())
    pruned, gone = load(folder), record["pruned"]["removed"]
    assert "36 of 72 heads" in repr(pruned)
    assert len(gone) == 36
    assert record["pruned"]["difference"] < 1e-5
    _, tested = two_parts("tour")
    cases = tested.cases(minilm, tested.examples, None)
    with hs.disable(minilm, gone, "zero"):
        expected = tested.predict(minilm, cases, Budget())
    assert np.allclose(tested.predict(pruned, cases, Budget()), expected, atol=1e-5)
    stated = record["pruned"]["test"][0]
    assert stated["value"] == pytest.approx(tested.metrics[0](expected, gold(tested)), abs=1e-6)
    weights = (folder / "model.safetensors").stat()
    assert weights.st_size < 84_000_000  # of 90.9 million bytes
    assert weights.st_mode & 0o044
    assert sum(record["pruned"]["parameters"]) > 0


def gold(one: Task) -> NDArray[np.float64]:
    return np.array([float(example.label or "nan") for example in one.examples])


def test_the_card_tells_what_was_removed_and_what_it_costs(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    record = json.loads((folder / "run" / "run.json").read_text())
    assert "50% of the heads removed (36 of 72 are left)" in card
    row = record["pruned"]["test"][0]
    assert f"{row['delta']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" in card
    listed = [f"{line[2:].split(':')[0]}.{head}" for line in card.splitlines()
              if line.startswith("- L") for head in line.split(": ")[1].split(", ")]  # fmt: skip
    assert listed == record["pruned"]["removed"]
    assert str(folder) not in card


def test_the_onnx_file_gives_the_same(folder: Path) -> None:
    assert output_difference(load(folder), folder / "model.onnx") < 1e-4


def test_the_same_command_finds_it_done(folder: Path) -> None:
    before = (folder / "model.safetensors").stat().st_mtime_ns
    choice, test = two_parts("tour")
    again = hs.prune(load("minilm"), test, choose=choice, keep=0.5, beside=(), out=folder,
                     progress=NoProgress())  # fmt: skip
    assert again.record["status"] == "complete"
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("family", ["gpt2", "mpnet"])
def test_models_without_all_heads_of_a_layer_go_to_onnx(family: str, tmp_path: Path) -> None:
    assert export_onnx(remove(tiny(family), "L0.H1,L1"), tmp_path / "m.onnx") < 1e-4
    assert [one.name for one in tmp_path.iterdir()] == ["m.onnx"]


@pytest.fixture(scope="module")
def work() -> Pruning:
    choice, test = two_parts("tour")
    made = Pruning(
        HeldOut(load("minilm"), {TEST: test, CHOICE: choice}), beside=(Choice(Way.ABLATION),)
    )
    for way in made.ways:
        made.merged.merge(made.work(way))
    return made


def test_curves_are_what_switching_heads_off_gives(work: Pruning) -> None:
    rows = [row for row in work.rows() if row["part"] == TEST and row["kept"] == 36]
    data = work.data
    for way in work.ways:
        off = named(work.order(way)[:36], data.model.heads)
        with hs.disable(data.model, off, "zero"):
            found = data.parts[TEST].predict(data.model, data.cases[TEST], Budget())
        for metric in data.parts[TEST].metrics:
            (row,) = [r for r in rows if r["method"] == str(way) and r["metric"] == metric.name]
            assert row["value"] == pytest.approx(metric(found, gold(data.parts[TEST])), abs=1e-6)


def test_what_may_be_lost_says_how_many_heads_go(work: Pruning) -> None:
    tried = work.merged.columns[f"tried {CHOICE} {work.by}"]
    lost = {kept: -work.data.effect(one, CHOICE).delta
            for kept, one in zip(work.points, tried, strict=True)}  # fmt: skip
    for allowed in (0.0, 0.01, 0.03, 0.9):
        kept = 72 - len(work.chosen(None, allowed))
        assert all(lost[point] <= allowed for point in work.points if kept <= point < 72)
        below = [point for point in work.points if point < kept]
        assert not below or lost[max(below)] > allowed
    assert len(work.chosen(0.6, None)) == 72 - round(0.6 * 72)


def test_orders_follow_worth(work: Pruning) -> None:
    chooser = Chooser(work.data.model, work.data.parts[CHOICE])
    for way in (Way.IMPORTANCE, Way.ABLATION):
        worth = chooser.worth(way)([])
        assert work.order(Choice(way)) == np.argsort(worth, kind="stable").tolist()
        assert sorted(work.order(Choice(way))) == list(range(72))


def test_heads_that_are_alone_in_their_layer_are_told_apart() -> None:
    torch.manual_seed(0)
    config = BertConfig(**CONFIGS["bert"].to_diff_dict() | {"num_attention_heads": 1})
    model = wrap(AutoModel.from_config(config), tokenizer())
    worth = Chooser(model, task("tour", limit=8)).importance([])
    assert len(set(worth.tolist())) == model.layers


def test_worth_is_estimated_again_without_the_heads_that_went(work: Pruning) -> None:
    chooser = Chooser(work.data.model, work.data.parts[CHOICE])
    order = order_by(chooser.importance, 72, step=40)
    first = order_by(chooser.importance, 72)[:40]
    assert order[:40] == first
    worth = chooser.importance(first)
    assert worth[first].max() == pytest.approx(0.0, abs=1e-9)  # nothing comes through them
    rest = [head for head in np.argsort(worth, kind="stable").tolist() if head not in first]
    assert order[40:72] == rest


def test_once_and_for_all_stands_beside_again_and_again(minilm: Model) -> None:
    some = task("tour", limit=20)
    found = hs.prune(minilm, some, keep=0.5, step=36, beside=(), progress=NoProgress())
    methods = {row["method"] for row in found.removals.to_pylist()}
    assert methods == {"importance", "importance, again after 36"}
    orders = {
        name: [(row["layer"], row["head"]) for row in found.removals.to_pylist()
               if row["method"] == name] for name in methods
    }  # fmt: skip
    assert orders["importance"][:36] == orders["importance, again after 36"][:36]
    (panel,) = panels([found])
    assert panel.columns == ("heads kept", "importance, again after 36", "importance")


def test_means_can_stand_for_heads(minilm: Model) -> None:
    found = hs.prune(minilm, "tour", keep=0.25, how="mean", beside=(), progress=NoProgress())
    assert found.record["pruned"]["difference"] < 1e-5
    (panel,) = panels([found])
    assert "75% of the heads removed (18 of 72 are left)" in panel.text[0]


def test_a_pruned_model_can_be_fine_tuned_afterwards(tmp_path: Path) -> None:
    lines = ["sentence\tlabel", *(f"{word} cd {word}\t{word}" for word in ("ab", "gh") * 20)]
    (tmp_path / "made.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(**CONFIGS["bert"].to_diff_dict() | {"num_labels": 2})
    model = wrap(AutoModelForSequenceClassification.from_config(config), tokenizer())
    choice, test = task(f"classify:{tmp_path / 'made.tsv'}").halves()
    assert isinstance(test, Classification)
    found = hs.prune(model, test, choose=choice, keep=0.5, tune=2, beside=(), onnx=False,
                     out=tmp_path / "tuned", progress=NoProgress())  # fmt: skip
    about = found.record["pruned"]
    assert about["difference"] < 1e-5  # before it learned again
    assert about["tuned"][0]["n"] == len(test.examples)
    again = load(tmp_path / "tuned", top=Top.CLASSIFIER)
    predictions = test.predict(again, test.cases(again, test.examples, None), Budget())
    assert test.metrics[0](predictions, np.array([test.classes.index(str(e.label))
                                                  for e in test.examples])) == pytest.approx(
        about["tuned"][0]["value"])  # fmt: skip
    assert not (tmp_path / "tuned" / "checkpoints").exists()
    assert not (tmp_path / "tuned" / "model.onnx").exists()


def test_bad_wishes_are_told(minilm: Model, tmp_path: Path) -> None:
    wishes: list[tuple[dict[str, Any], str]] = [
        ({}, "say how many heads"),
        ({"keep": 0.5, "max_drop": 0.1}, "one of the two"),
        ({"keep": 60.0}, "0 to 1"),
        ({"keep": 0.5, "by": "magic"}, "importance, ablation, gates"),
        ({"keep": 0.5, "by": "random"}, "not chosen by chance"),
        ({"keep": 0.5, "by": "gates", "step": 7}, "trained once"),
        ({"keep": 0.5, "tune": 1.0}, "needs a folder"),
        ({"keep": 0.5, "tune": 1.0, "out": tmp_path / "x"}, "nothing to train"),
    ]
    for options, message in wishes:
        with pytest.raises(HeadscopeError, match=message):
            hs.prune(minilm, "tour", progress=NoProgress(), **options)
    some = task("tour")
    with pytest.raises(HeadscopeError, match="zero, or its mean"):
        hs.prune(minilm, some, keep=0.5, how="uniform", progress=NoProgress())
    with pytest.raises(HeadscopeError, match="1 or more"):
        hs.prune(minilm, some, keep=0.5, step=0, progress=NoProgress())
    with pytest.raises(HeadscopeError, match="the very data"):
        hs.prune(minilm, some, choose=task("tour"), keep=0.5, progress=NoProgress())
    pairs = task("tour").halves()
    (tmp_path / "pairs.tsv").write_text("sentence\tlabel\na b\tx\nc d\ty\n", encoding="utf-8")
    other = task(f"classify:{tmp_path / 'pairs.tsv'}")
    with pytest.raises(HeadscopeError, match="another kind of task"):
        hs.prune(minilm, pairs[0], choose=other, keep=0.5, progress=NoProgress())
    with pytest.raises(HeadscopeError, match="penalties grow"):
        Schedule(penalties=(0.2, 0.1))
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(HeadscopeError, match="other things in it"):
        hs.prune(minilm, "tour", keep=0.5, out=tmp_path, progress=NoProgress())
    with pytest.raises(HeadscopeError, match="share one module"):
        hs.prune(tiny("albert"), task("tour"), keep=0.5, progress=NoProgress())


def test_bad_words_on_the_command_line(tmp_path: Path) -> None:
    for words in (["--keep", "many"], ["--max-drop", "little"], ["--penalties", "1,x"]):
        made = ["prune", "minilm", "tour", "-o", str(tmp_path / "x"), *words]
        done = CliRunner().invoke(app, made if "--keep" in words else [*made, "--keep", "0.5"])
        assert done.exit_code != 0
    assert not (tmp_path / "x").exists()
