"""Pruning from end to end: curves, the folder, its card, ONNX, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoModelForSequenceClassification, BertConfig

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import LOSS
from headscope.experiments._shared.head_curves import CERTIFY, CHOICE, PRUNING, TEST
from headscope.experiments._shared.held_out import HeldOut, choice_and_test
from headscope.experiments._shared.identity import task_record
from headscope.experiments.ablation.compute import Ablation
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.pruning.card import model_card
from headscope.experiments.pruning.certification import Limit
from headscope.experiments.pruning.curves import PruningCurves
from headscope.experiments.pruning.helpful import helpful_heads
from headscope.experiments.pruning.orders import HeadScorer, order_by
from headscope.experiments.pruning.remarks import drop_warning, helpful_warning, random_warning
from headscope.experiments.pruning.section import pruning_sections
from headscope.experiments.pruning.tables import (
    CERTIFICATION,
    REMOVALS,
    Promise,
    PruningSummary,
    Refusal,
)
from headscope.experiments.pruning.target import Criterion, PruningTarget, Selection
from headscope.model import Model, Top, load, remove, wrap
from headscope.model.pruned.onnx import export_onnx, output_difference
from headscope.runs.record import as_json
from headscope.tasks import Classification, Task, task, two_parts
from headscope.testing import tiny_tokenizer
from tests.tiny import CONFIGS, tiny

Run = Callable[..., tuple[int, str, str]]
FEW = 24
"""Pairs of texts, a half to choose by: what is proven here holds for any number of them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pruned") / "smaller"
    hs.prune(
        "minilm", task("tour", limit=FEW), keep=0.5, beside=(), out=path, progress=NoProgress()
    )
    return path


def test_the_folder_holds_a_smaller_model_that_does_the_same(folder: Path, minilm: Model) -> None:
    record = json.loads((folder / "run" / "run.json").read_text())
    pruned, gone = load(folder), record["pruned"]["removed"]
    assert "36 of 72 heads" in repr(pruned)
    assert len(gone) == 36
    assert record["pruned"]["difference"] < 1e-5
    _, tested = two_parts("tour", limit=FEW)
    cases = tested.cases(minilm, tested.examples, None)
    with hs.disable(minilm, gone, "zero"):
        expected = tested.predict(minilm, cases, Budget())
    assert np.allclose(tested.predict(pruned, cases, Budget()), expected, atol=1e-5)
    stated = record["pruned"]["test"][0]
    assert stated["value"] == pytest.approx(tested.metrics[0](expected, gold(tested)), abs=1e-6)
    weights = (folder / "model.safetensors").stat()
    assert weights.st_size < 84_000_000  # of 90.9 million bytes
    assert weights.st_mode & 0o044
    before, after = record["pruned"]["parameters"]
    assert before == sum(parameter.numel() for parameter in minilm.whole.parameters())
    assert before - after == 36 * (3 * (384 * 32 + 32) + 32 * 384)  # q, k, v with bias; output


def gold(one: Task) -> NDArray[np.float64]:
    return np.array([float(example.label or "nan") for example in one.examples])


def test_the_card_tells_what_was_removed_and_what_it_costs(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    record = json.loads((folder / "run" / "run.json").read_text())
    assert "50% of the heads removed (36 of 72 are left)" in card
    row = record["pruned"]["test"][0]
    assert f"{row['delta']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" in card
    listed = [
        f"{line[2:].split(':')[0]}.{head}"
        for line in card.splitlines()
        if line.startswith("- L")
        for head in line.split(": ")[1].split(", ")
    ]
    assert listed == record["pruned"]["removed"]
    assert str(folder) not in card


def test_every_block_of_the_card_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in card.split("```python\n")[1:]]
    assert len(blocks) == 5
    monkeypatch.chdir(folder.parent)
    for block in blocks:
        exec(block.replace("FOLDER", folder.name), {})


def test_the_onnx_file_gives_the_same(folder: Path) -> None:
    assert output_difference(load(folder), folder / "model.onnx") < 1e-4


def test_the_same_command_finds_it_done(folder: Path) -> None:
    before = (folder / "model.safetensors").stat().st_mtime_ns
    choice, test = two_parts("tour", limit=FEW)
    again = hs.prune(
        load("minilm"), test, choose=choice, keep=0.5, beside=(), out=folder, progress=NoProgress()
    )
    assert again.record.status == "complete"
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    named, given = choice_and_test("tour", None), two_parts("tour")
    assert [task_record(one) for one in named] == [task_record(one) for one in given]


@pytest.mark.parametrize("family", ["gpt2", "mpnet"])
def test_models_without_all_heads_of_a_layer_go_to_onnx(family: str, tmp_path: Path) -> None:
    assert export_onnx(remove(tiny(family), "L0.H1,L1"), tmp_path / "m.onnx") < 1e-4
    assert [one.name for one in tmp_path.iterdir()] == ["m.onnx"]


@pytest.fixture(scope="module")
def curves() -> PruningCurves:
    choice, test = two_parts("tour", limit=FEW)
    data = HeldOut(load("minilm"), {TEST: test, CHOICE: choice})
    curves = PruningCurves(data, PruningTarget(keep=0.5, beside=("ablation",)).selections)
    for selection in curves.selections:
        curves.merged.merge(curves.work(selection))
    return curves


def test_curves_are_what_switching_heads_off_gives(curves: PruningCurves) -> None:
    rows = [row for row in curves.rows() if row.part == TEST and row.kept == 36]
    data = curves.data
    for selection in curves.selections:
        (order,) = curves.orders(selection)
        with hs.disable(data.model, data.model.places_of(order[:36]), "zero"):
            found = data.parts[TEST].predict(data.model, data.cases[TEST], Budget())
        for metric in data.parts[TEST].metrics:
            (row,) = [r for r in rows if (r.method, r.metric) == (str(selection), metric.name)]
            assert row.value == pytest.approx(metric(found, gold(data.parts[TEST])), abs=1e-6)


def test_what_may_be_lost_says_how_many_heads_go(minilm: Model) -> None:
    choice, held_out = two_parts("tour")
    certify, test = held_out.halves()
    data = HeldOut(minilm, {TEST: test, CHOICE: choice, CERTIFY: certify})
    limit = Limit(0.9, confidence=0.6)
    curves = PruningCurves(data, PruningTarget(max_drop=0.9, beside=()).selections, limit)
    curves.counts = [12, 36, 71]
    curves.merged.merge(curves.work(curves.by))
    (order,), steps = curves.orders(curves.by), curves.steps()
    lossy = data.loss_test(CERTIFY)
    for step in steps:
        off = minilm.places_of(order[: step.removed])
        assert step.estimate == lossy(data.predict_without(off, CERTIFY), limit.max_drop)
        assert step.accepted == (step.estimate.p <= 0.4)
    assert [step.accepted for step in steps[:-1]] == [True] * (len(steps) - 1)
    accepted = [step.removed for step in steps if step.accepted]
    assert curves.removable(None) == order[: max(accepted, default=0)]
    assert len(curves.removable(0.6)) == 72 - round(0.6 * 72)


def test_three_parts_of_the_data_have_nothing_in_common(minilm: Model) -> None:
    choice, held_out = two_parts("tour")
    parts = [choice, *held_out.halves()]
    names = [{example.unit for example in part.examples} for part in parts]
    assert all(names)
    assert len(set.union(*names)) == sum(map(len, names)) == len(task("tour").examples)
    assert [part.half for part in parts] == [0, 4, 5]


def test_orders_follow_scores(curves: PruningCurves) -> None:
    scorer = HeadScorer(curves.data.model, curves.data.parts[CHOICE])
    for criterion in (Criterion.IMPORTANCE, Criterion.ABLATION):
        scores = scorer.by(criterion)([])
        (order,) = curves.orders(Selection(criterion))
        assert order == np.argsort(scores, kind="stable").tolist()
        assert sorted(order) == list(range(72))


def test_heads_that_are_alone_in_their_layer_are_told_apart() -> None:
    torch.manual_seed(0)
    config = BertConfig(**CONFIGS["bert"].to_diff_dict() | {"num_attention_heads": 1})
    model = wrap(AutoModel.from_config(config), tiny_tokenizer())
    scores = HeadScorer(model, task("tour", limit=8)).importance([])
    assert len(set(scores.tolist())) == model.layers


def test_heads_are_scored_again_without_those_that_went(curves: PruningCurves) -> None:
    scorer = HeadScorer(curves.data.model, curves.data.parts[CHOICE])
    order = order_by(scorer.importance, 72, step=40)
    first = order_by(scorer.importance, 72)[:40]
    assert order[:40] == first
    again = HeadScorer(curves.data.model, curves.data.parts[CHOICE])
    scores = again.importance(first)  # before the intact model was scored: order does not matter
    assert scores.tolist() == scorer.importance(first).tolist()
    assert scores[first].max() == pytest.approx(0.0, abs=1e-9)  # nothing comes through them
    rest = [head for head in np.argsort(scores, kind="stable").tolist() if head not in first]
    assert order[40:72] == rest


def test_once_and_for_all_stands_beside_again_and_again(minilm: Model) -> None:
    some = task("tour", limit=12)
    results = hs.prune(minilm, some, keep=0.5, step=36, beside=(), progress=NoProgress())
    methods = {row.method for row in results.rows(REMOVALS)}
    assert methods == {"importance", "importance, again after 36"}
    orders = {
        name: [(row.layer, row.head) for row in results.rows(REMOVALS, method=name)]
        for name in methods
    }
    assert orders["importance"][:36] == orders["importance, again after 36"][:36]
    (section,) = pruning_sections([results])
    assert section.columns == ("heads kept", "importance, again after 36", "importance")


def test_means_can_stand_for_heads(minilm: Model) -> None:
    some = task("tour", limit=FEW)
    results = hs.prune(minilm, some, keep=0.25, how="mean", beside=(), progress=NoProgress())
    assert results.record.summary_as(PruningSummary).pruned.difference < 1e-5
    (section,) = pruning_sections([results])
    assert "75% of the heads removed (18 of 72 are left)" in section.text[0]


def test_data_that_cannot_vouch_for_a_removal_remove_no_head(run: Run, tmp_path: Path) -> None:
    """`--max-drop 1%` removed 7 heads by 8 pairs, and lost 2.2 points on 8 others."""
    home = tmp_path / "same"
    words = ["--max-drop", "1%", "--beside", "", "--no-onnx", "--limit", "24", "-o", home]
    code, out, messages = run("prune", "minilm", "tour", *words)
    assert code == 0, messages
    said = " ".join(out.split())
    assert "No head is removed" in said
    assert "cannot vouch for a loss of at most 1.0 points" in said
    summary = hs.open(home / "run").record.summary_as(PruningSummary)
    assert summary.pruned.removed == []
    assert summary.promise is not None
    assert summary.promise.refusal is not None
    assert summary.promise.examples == summary.sizes.certify
    assert summary.claim.startswith("No head was removed. Without 3 heads a loss of more than 1.0")
    card = (home / "README.md").read_text(encoding="utf-8")
    assert summary.claim in card
    (row,) = hs.open(home / "run").rows(CERTIFICATION)
    assert (row.removed, row.accepted) == (3, False)
    (section,) = pruning_sections([hs.open(home / "run")])
    (tests,) = section.below
    assert [line[0] for line in tests.rows] == ["3"]
    assert tests.rows[0][-1] == "no"


def test_a_promise_that_holds_is_stated_first(minilm: Model, tmp_path: Path) -> None:
    heads = [f"L{layer}.H{head}" for layer in (0, 3) for head in range(4)]
    few = task("tour", limit=FEW)
    results = hs.prune(minilm, few, heads=",".join(heads), beside=(), progress=NoProgress())
    summary = results.record.summary_as(PruningSummary)
    promise = Promise(0.025, 0.95, exact=False, examples=800, refusal=Refusal(9, 0.02, 0.2, 1500))
    told = replace(summary, promise=promise, warnings=["a head that was removed helps"])
    assert told.claim.startswith(
        "Note: a head that was removed helps. With 95% confidence the loss on new examples of this "
        "kind is at most 2.5 points of Spearman (approximate test on 800 examples"
    )
    assert "Without 9 heads a loss of more than 2.5 points cannot be ruled out" in told.claim
    assert "about 1,500 examples would be needed" in told.claim
    hopeless = replace(promise, refusal=Refusal(9, 0.03, 0.7))
    assert "more examples alone would not help" in replace(told, promise=hopeless).claim
    card = model_card(minilm, results.record.study, told)
    assert f"For {results.record.study.about.name}. {told.claim}" in card
    assert "The promise: with 95% confidence Spearman loses at most 2.5 points" in card


def test_a_loss_beyond_the_limit_is_remarked(minilm: Model) -> None:
    """`--max-drop 1%` said -2.2 points on held-out examples without a remark."""
    some = task("tour", limit=16)
    results = hs.prune(minilm, some, keep=0.5, beside=(), progress=NoProgress())
    summary = results.record.summary_as(PruningSummary)
    change, intact = summary.pruned.test[0], summary.intact[0]
    assert change.delta < -0.01
    warning = drop_warning(change, intact, 0.01)
    assert warning is not None
    assert f"the loss of {-100 * change.delta:.1f} points of Spearman" in warning
    assert "more than --max-drop allows (1.0 points)" in warning
    beyond = replace(summary, promise=Promise(0.01, 0.95, False, 8), warnings=[warning])
    assert beyond.claim.startswith(f"Note: {warning}")
    results.record.summary = as_json(beyond)
    section = next(iter(pruning_sections([results])))
    assert section.text[0].startswith(f"Note: {warning}")
    assert "more than the 1.0 points that are allowed" in section.finding
    assert drop_warning(change, intact, -change.delta) is None
    less_is_better = replace(intact, better=-1, share=False)
    assert drop_warning(change, less_is_better, 0.01) is None
    assert drop_warning(replace(change, delta=0.02), less_is_better, 0.01) is not None


def test_a_choice_no_better_than_chance_is_remarked(minilm: Model) -> None:
    few = task("tour", limit=FEW)
    results = hs.prune(minilm, few, keep=0.5, beside=("random",), progress=NoProgress())
    summary = results.record.summary_as(PruningSummary)
    change, intact = summary.pruned.test[0], summary.intact[0]
    rows = results.rows(PRUNING, method="random", metric="Spearman", kept=36)
    assert summary.pruned.random == pytest.approx([row.value for row in rows])
    at_random = [change.value - 0.2, change.value - 0.1]
    assert random_warning(change, intact, at_random) is None
    warning = random_warning(change, intact, [*at_random, change.value])
    assert warning is not None
    assert "1 of 3 random choices of as many heads reach a Spearman of at least" in warning
    worse = replace(intact, better=-1)
    assert random_warning(change, worse, [change.value + 0.1]) is None


def test_removed_heads_that_help_are_remarked(minilm: Model) -> None:
    held_out, choice = task("tour").halves()
    data = HeldOut(minilm, {TEST: held_out, CHOICE: choice})
    last = [number for number, (layer, _) in enumerate(minilm.places) if layer == 5]
    helpful = helpful_heads(data, CHOICE, last)
    alone = Ablation(minilm, choice, heads=[f"L5.H{head}" for head in range(12)], how="zero")
    alone.prepare(NoProgress())
    for part in alone.parts:
        alone.work(part)
    helps = {row.name for row in alone.rows if row.verdict == "helps" and row.metric == "Spearman"}
    assert {row.name for row in helpful} == helps
    assert helpful_heads(data, CHOICE, []) == []
    rows = [replace(alone.rows[head], delta=-0.01 * head) for head in range(1, 8)]
    warning = helpful_warning(rows, data.scores()[0])
    assert warning is not None
    assert "L5.H7 (-7.0 points), L5.H6 (-6.0 points)" in warning
    assert "and 2 more" in warning
    assert helpful_warning([], data.scores()[0]) is None


def test_a_pruned_model_can_be_fine_tuned_afterwards(tmp_path: Path) -> None:
    lines = ["sentence\tlabel", *(f"{word} cd {word}\t{word}" for word in ("ab", "gh") * 20)]
    (tmp_path / "made.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(**CONFIGS["bert"].to_diff_dict() | {"num_labels": 2})
    model = wrap(AutoModelForSequenceClassification.from_config(config), tiny_tokenizer())
    choice, test = task(f"classify:{tmp_path / 'made.tsv'}").halves()
    assert isinstance(test, Classification)
    results = hs.prune(
        model,
        test,
        choose=choice,
        keep=0.5,
        tune=2,
        beside=(),
        onnx=False,
        out=tmp_path / "tuned",
        progress=NoProgress(),
    )
    pruned = results.record.summary_as(PruningSummary).pruned
    assert pruned.difference < 1e-5  # before it was trained again
    assert pruned.tuned is not None
    assert pruned.tuned[0].n == len(test.examples)
    again = load(tmp_path / "tuned", top=Top.CLASSIFIER)
    predictions = test.predict(again, test.cases(again, test.examples, None), Budget())
    classes = np.array([test.classes.index(str(example.label)) for example in test.examples])
    assert test.metrics[0](predictions, classes) == pytest.approx(pruned.tuned[0].value)
    assert not (tmp_path / "tuned" / "checkpoints").exists()
    assert not (tmp_path / "tuned" / "model.onnx").exists()


def test_bad_targets_are_refused(minilm: Model, tmp_path: Path) -> None:
    targets: list[tuple[dict[str, Any], str]] = [
        ({}, "say how many heads"),
        ({"keep": 0.5, "max_drop": 0.1}, "one of the three"),
        ({"keep": 60.0}, "0 to 1"),
        ({"keep": float("nan")}, "0 to 1"),
        ({"max_drop": 5.0}, "share of Spearman, 0 to 1"),
        ({"max_drop": -0.1}, "0 or more"),
        ({"max_drop": float("nan")}, "0 or more"),
        ({"max_drop": 1.0}, "share of Spearman, 0 to 1"),
        ({"max_drop": "5"}, "share of Spearman, 0 to 1"),
        ({"max_drop": "100%"}, "less than all of it"),
        ({"max_drop": "little"}, "share such as 0.5%"),
        ({"max_drop": 0.01, "confidence": 0.5}, "above 50% and below 100%"),
        ({"max_drop": 0.01, "confidence": 1.0}, "above 50% and below 100%"),
        ({"max_drop": 0.01, "confidence": 95.0}, "above 50% and below 100%"),
        ({"keep": 0.5, "by": "magic"}, "importance, ablation, gates"),
        ({"keep": 0.5, "by": "random"}, "not removed at random"),
        ({"keep": 0.5, "by": "gates", "step": 7}, "trained once"),
        ({"keep": 0.5, "tune": 1.0}, "needs a folder"),
        ({"keep": 0.5, "tune": 1.0, "out": tmp_path / "x"}, "nothing to train"),
    ]
    for options, message in targets:
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
    PruningTarget(max_drop=5.0).check_metric(LOSS)  # nats, not a share
    with pytest.raises(HeadscopeError, match="unit of loss, which is not a share"):
        PruningTarget(max_drop="5%").check_metric(LOSS)
    assert PruningTarget(max_drop="1%").options() == PruningTarget(max_drop=0.01).options()
    assert "confidence" not in PruningTarget(keep=0.5).options()
    with pytest.raises(HeadscopeError, match="penalties grow"):
        Schedule(penalties=(0.2, 0.1))
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(HeadscopeError, match="other things in it"):
        hs.prune(minilm, "tour", keep=0.5, out=tmp_path, progress=NoProgress())
    with pytest.raises(HeadscopeError, match="share their weights"):
        hs.prune(tiny("albert"), task("tour"), keep=0.5, progress=NoProgress())


def test_the_command_finds_the_model_of_the_same_call(run: Run, folder: Path) -> None:
    before = (folder / "model.safetensors").stat().st_mtime_ns
    options = ["--keep", "50%", "--beside", "", "--limit", FEW, "-o", folder]
    code, out, messages = run("prune", "minilm", "tour", *options)
    assert code == 0, messages
    assert "36 of 72 are left" in " ".join(out.split())
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


def test_bad_words_on_the_command_line(run: Run, tmp_path: Path) -> None:
    bad = (
        (["--keep", "many"], "many"),
        (["--max-drop", "little"], "little"),
        (["--max-drop", "5"], "share of Spearman, 0 to 1"),
        (["--max-drop", "100%"], "share of Spearman, 0 to 1"),
        (["--max-drop", "1%", "--confidence", "40%"], "above 50% and below 100%"),
        (["--max-drop", "1%", "--confidence", "sure"], "sure"),
        (["--penalties", "1,x", "--keep", "0.5"], "1,x"),
    )
    for words, message in bad:
        code, _, messages = run("prune", "minilm", "tour", "-o", tmp_path / "x", *words)
        assert code != 0
        assert message in messages
        assert "Traceback" not in messages
    assert not (tmp_path / "x").exists()
