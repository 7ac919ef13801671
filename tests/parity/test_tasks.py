"""A sweep equals one run per head through the plain model; tasks equal a loop over examples."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Budget
from headscope.errors import HeadscopeError, InputError, ModelError
from headscope.evidence import ShardResult
from headscope.evidence.metrics import Metric
from headscope.evidence.paired import Effect
from headscope.evidence.sequential import Decider, Verdict
from headscope.experiments._shared.mean_outputs import average_head_outputs
from headscope.experiments.ablation.compute import Ablation
from headscope.experiments.ablation.tables import ABLATION, AblationSummary
from headscope.experiments.ablation.variants import every_head_and_layer
from headscope.model import Model, Top, disable
from headscope.model.initialise import load_untrained_classifier
from headscope.model.loading import wrap
from headscope.tasks import Classification, Task, task
from headscope.testing import tiny_tokenizer
from tests.tiny import CONFIGS

MOVIES = [
    ("A warm and funny film.", "good"),
    ("It drags on and on.", "bad"),
    ("I loved every minute of it, to my surprise.", "good"),
    ("Dull.", "bad"),
    ("The actors deserve better than this script.", "bad"),
    ("Go and see it!", "good"),
    ("Two hours that I will not get back.", "bad"),
    ("A small masterpiece.", "good"),
]


@pytest.fixture
def movies(tmp_path: Path) -> Path:
    path = tmp_path / "movies.csv"
    lines = ["text,label", *(f'"{text}",{label}' for text, label in MOVIES)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def naive(model: Model, one: Task, how: str = "uniform") -> dict[str, np.ndarray]:
    """One run of the task per variant, one example at a time, nothing padded."""
    cases = one.cases(model, one.examples, None)
    means = average_head_outputs(model, one, cases, Budget()) if how == "mean" else None
    single = Budget(1, 1)
    found = {"intact": one.predict(model, cases, single)}
    for variant in every_head_and_layer(model):
        heads = [(layer, head) for layer, some in variant.heads.items() for head in some]
        with disable(model, heads, how, means):
            found[variant.name] = one.predict(model, cases, single)
    return found


def prepared(
    model: Model,
    one: Task,
    heads: list[str] | None = None,
    how: str = "uniform",
    decider: Decider | None = None,
) -> Ablation:
    ablation = Ablation(model, one, heads=heads, how=how, decider=decider)
    ablation.prepare(NoProgress())
    return ablation


def swept(model: Model, one: Task, how: str = "uniform") -> dict[str, np.ndarray]:
    work = prepared(model, one, how=how)
    for part in work.parts:
        work.work(part)
    places = {id(case.example): place for place, case in enumerate(work.cases)}
    order = [places[id(example)] for example in one.examples]
    names = ["intact", *(variant.name for variant in work.variants)]
    return {name: work.done[order, place] for place, name in enumerate(names)}


def assert_same(model: Model, one: Task, how: str = "uniform", tolerance: float = 1e-5) -> None:
    ours, reference = swept(model, one, how), naive(model, one, how)
    assert ours.keys() == reference.keys()
    for name in ours:
        np.testing.assert_allclose(ours[name], reference[name], atol=tolerance, err_msg=name)


@pytest.mark.parametrize("how", ["uniform", "zero", "mean"])
def test_similarity(minilm: Model, how: str) -> None:
    assert_same(minilm, task("tour", limit=2), how)


@pytest.mark.parametrize("family", ["bert", "distilbert", "mpnet", "modernbert", "gpt2"])
def test_classification(family: str, movies: Path) -> None:
    torch.manual_seed(3)
    config = CONFIGS[family]
    config.num_labels, config.pad_token_id = 2, 0
    network = AutoModelForSequenceClassification.from_config(config).eval()
    model = wrap(network, tiny_tokenizer(decoder=family == "gpt2"), family)
    one = task(f"classify:{movies}")
    assert_same(model, one)
    work = prepared(model, one)
    assert work.first_only is (family not in ("gpt2",))  # decoders read the last token


def test_masked_lm(movies: Path) -> None:
    torch.manual_seed(4)
    words = tiny_tokenizer()
    words.add_special_tokens({"mask_token": "[MASK]"})
    network = AutoModelForMaskedLM.from_config(CONFIGS["bert"]).eval()
    network.resize_token_embeddings(len(words))
    model = wrap(network, words, "bert")
    one = task(f"masked-lm:{movies}")
    assert_same(model, one, tolerance=1e-4)
    cases = one.cases(model, one.examples, None)
    again = task(f"masked-lm:{movies}").cases(model, one.examples, None)
    for case, other in zip(cases, again, strict=True):  # always the same words
        assert case.texts[0].ids.tolist() == other.texts[0].ids.tolist()
        assert case.target is not None
        hidden = np.asarray(case.target != -100)
        words_hidden = set(case.texts[0].word[hidden])
        assert hidden.tolist() == [word in words_hidden for word in case.texts[0].word]
    found = one.predict(model, cases, Budget())
    for case, loss in zip(cases, found, strict=True):  # the textbook's loss
        batch = model.batch(case.texts)
        with torch.no_grad():
            logits = model.whole(**batch.inputs(model.network)).logits[0]
        truth = torch.from_numpy(case.target)
        expected = torch.nn.functional.cross_entropy(logits, truth, reduction="sum")
        assert loss == pytest.approx(float(expected), rel=1e-4)


def test_masked_lm_of_a_real_model(models: Path) -> None:
    model = hs.load(models / "rxnfp-pretrained", top=Top.MASKED_LM)
    reactions = Path(__file__).parent.parent / "data" / "reactions.txt"
    one = task(f"masked-lm:{reactions}")
    cases = one.cases(model, one.examples, None)
    counts = np.array([case.gold for case in cases])
    loss = one.metrics[0](one.predict(model, cases, Budget()), counts)
    assert loss < 1.6  # it knows reactions; guessing among its tokens would be above 5
    with disable(model, [f"L{layer}" for layer in range(model.layers)]):
        worse = one.predict(model, cases, Budget())
    assert one.metrics[0](worse, counts) > 2 * loss


def test_similarity_is_the_cosine_of_means(minilm: Model) -> None:
    one = task("tour", limit=5)
    cases = one.cases(minilm, one.examples, None)
    found = one.predict(minilm, cases, Budget())
    for example, score in zip(one.examples, found, strict=True):
        vectors = []
        for text in (example.text, example.pair):
            encoded = minilm.tokenizer(text, return_tensors="pt")
            with torch.no_grad():
                vectors.append(minilm.network(**encoded)[0][0].mean(0))
        expected = torch.dot(*vectors) / (vectors[0].norm() * vectors[1].norm())
        assert score == pytest.approx(float(expected), abs=1e-5)


def test_sets_across_layers(minilm: Model) -> None:
    one = task("tour", limit=4)
    work = prepared(minilm, one, ["L0.H1,L3", "L2.H2,L2.H3"])
    work.work(work.cases)
    for place, name in enumerate(("L0.H1,L3", "L2.H2,L2.H3"), 1):
        with disable(minilm, name):
            reference = one.predict(minilm, work.cases, Budget())
        np.testing.assert_allclose(work.done[:, place], reference, atol=1e-5)


def test_a_budget_saves_work_and_agrees(minilm: Model) -> None:
    one, margin = task("tour"), 0.05
    heads = [f"L{layer}.H{head}" for layer in range(6) for head in (1, 5, 8)]
    metric = one.metrics[0].name
    results = hs.ablate(minilm, one, heads=heads, progress=NoProgress())
    whole = {row.name: row for row in results.rows(ABLATION, metric=metric)}
    saved = hs.ablate(minilm, one, heads=heads, budget=Decider(margin), progress=NoProgress())
    tried = [row.n for row in saved.rows(ABLATION, metric=metric)]
    assert min(tried) < len(one.examples)
    assert sum(tried) < 0.9 * len(tried) * len(one.examples)
    for row in saved.rows(ABLATION, metric=metric):
        delta = whole[row.name].delta
        if row.n == len(one.examples):  # tried on everything: the same to the digit
            assert row.delta == pytest.approx(delta, abs=1e-6)
        elif row.verdict == "nothing":  # decided early: all the data do not contradict
            assert abs(delta) < margin
        else:
            assert row.verdict == ("helps" if delta < 0 else "hurts")


def test_a_budget_is_the_same_after_an_interruption(minilm: Model) -> None:
    one, sets = task("tour"), [f"L{layer}.H{head}" for layer in range(6) for head in (1, 5, 8)]
    whole, again = (prepared(minilm, one, sets, decider=Decider(margin=0.05)) for _ in range(2))
    shard_results = [whole.work(part) for part in whole.parts]
    earlier = ShardResult()
    for result in shard_results[:-1]:
        earlier.merge(result)
    again.skip(earlier)
    assert again.decided
    again.work(again.parts[-1])
    np.testing.assert_array_equal(again.done, whole.done)  # NaN where it was not tried
    assert again.rows == whole.rows


@dataclass(frozen=True)
class Counting(Decider):
    """Never decides, and counts how often it was asked."""

    asked: list[int] = field(default_factory=list)

    def verdict(self, effect: Effect, metric: Metric) -> Verdict:
        self.asked.append(effect.changed)
        return Verdict.UNCLEAR


@pytest.mark.parametrize(("looks", "size"), [(8, 2), (3, 2), (8, 32)])
def test_a_budget_looks_no_more_often_than_it_says(
    looks: int, size: int, minilm: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.experiments.ablation.compute.SMALLEST", size)
    monkeypatch.setattr("headscope.experiments.ablation.compute.LARGEST", size)
    decider = Counting(looks=looks)
    work = prepared(minilm, task("tour"), ["L0", "L1"], decider=decider)
    for part in work.parts:
        work.take(np.random.default_rng(0).random((len(part), 3)))
    assert len(work.rows) == 4  # two sets, two metrics: the last look, which judges all metrics
    asked = len(decider.asked) - 4
    assert asked == 2 * (min(looks, len(work.parts)) - 1)


def test_metrics_of_the_intact_model(minilm: Model) -> None:
    results = hs.ablate(minilm, task("tour"), heads=["L0.H0"], progress=NoProgress())
    one = task("tour")
    cases = one.cases(minilm, one.examples, None)
    scores = one.predict(minilm, cases, Budget())
    expected = stats.spearmanr(scores, [case.gold for case in cases]).statistic
    intact = results.record.summary_as(AblationSummary).intact
    assert intact[0].value == pytest.approx(expected, abs=1e-6)


def test_glue_is_read_as_it_is(data: Path) -> None:
    sizes = {
        "mrpc": 408,
        "rte": 277,
        "sts-b": 1500,
        "sst-2": 872,
        "cola": 1043,
        "wnli": 71,
        "qnli": 5463,
        "mnli": 9815,
    }
    for name, size in sizes.items():
        one = task(f"glue/{name}", glue_dir=data / "glue")
        assert len(one.examples) == size
        assert all(example.text for example in one.examples)
    one = task("glue/qqp", part="train.sample1k", glue_dir=data / "glue")
    assert len(one.examples) == 1000
    assert isinstance(one, Classification)
    gold = np.array([float(one.classes.index(str(e.label))) for e in one.examples])
    nothing = one.knows_nothing(gold)
    assert one.metrics[1](nothing, gold) == max(np.mean(gold), 1 - np.mean(gold))


def test_imdb_and_own_files(tmp_path: Path, movies: Path) -> None:
    for label, text in (("pos", "Good film.<br /><br />Really."), ("neg", "Bad film.")):
        folder = tmp_path / "imdb" / "test" / label
        folder.mkdir(parents=True)
        (folder / "0_1.txt").write_text(text, encoding="utf-8")
    one = task(f"imdb:{tmp_path / 'imdb'}")
    assert [(e.id, e.label) for e in one.examples] == [("neg/0_1", "neg"), ("pos/0_1", "pos")]
    assert "<br" not in one.examples[1].text
    own = task(f"classify:{movies}")
    assert isinstance(own, Classification)
    assert own.classes == ("bad", "good")


def test_what_cannot_be_done_is_said(minilm: Model, movies: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadscopeError, match="there is no task 'nonsense'"):
        task("nonsense")
    with pytest.raises(HeadscopeError, match=r"GLUE has no task 'xyz' \(it has mrpc"):
        task("glue/xyz", glue_dir=tmp_path)
    with pytest.raises(InputError, match=r"no dev.tsv of glue/mrpc .no folder MRPC"):
        task("glue/mrpc", glue_dir=tmp_path)
    with pytest.raises(InputError, match="not a pair"):
        task(f"similarity:{movies}")
    with pytest.raises(ModelError, match="fine-tune it first"):
        hs.ablate("minilm", f"classify:{movies}")
    three = load_untrained_classifier("minilm", ["a", "b", "c"])
    with pytest.raises(HeadscopeError, match="tells 3 classes apart"):
        hs.ablate(three, f"classify:{movies}")
    with pytest.raises(HeadscopeError, match="there is no L6"):
        hs.ablate(minilm, "tour", heads=["L6"])
    one = tmp_path / "one.csv"
    one.write_text("text,label\nyes,a\nno,a\n", encoding="utf-8")
    with pytest.raises(InputError, match="only one class"):
        task(f"classify:{one}")
    long = tmp_path / "long.csv"
    long.write_text(f"text,label\n{'word ' * 600},a\nno,b\n", encoding="utf-8")
    with pytest.raises(HeadscopeError, match="--max-length 512"):
        hs.ablate(load_untrained_classifier("minilm", ["a", "b"]), f"classify:{long}")


def test_a_guessing_model_is_warned_of(movies: Path) -> None:
    results = hs.ablate(
        load_untrained_classifier("minilm", ["bad", "good"]),
        f"classify:{movies}",
        progress=NoProgress(),
    )
    warnings = results.record.summary_as(AblationSummary).warnings
    assert any("always guessing" in warning for warning in warnings)


def test_a_killed_sweep_goes_on(minilm: Model, tmp_path: Path) -> None:
    one, run = task("tour"), tmp_path / "run"
    sets = ["L0.H0", "L5"]
    whole = hs.ablate(minilm, one, heads=sets, progress=NoProgress())

    class Stop(NoProgress):
        def advance(self, amount: int) -> None:
            if (run / "checkpoint-0.npz").exists():
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hs.ablate(minilm, one, heads=sets, out=run, progress=Stop())
    assert json.loads((run / "run.json").read_text())["status"] == "running"
    again = hs.ablate(minilm, one, heads=sets, out=run, progress=NoProgress())
    assert again.table("ablation").equals(whole.table("ablation"))
    assert sorted(path.name for path in run.iterdir()) == [
        ".lock",
        "ablation.parquet",
        "report.html",
        "run.json",
    ]
    assert hs.open(run).rows(ABLATION) == whole.rows(ABLATION)
