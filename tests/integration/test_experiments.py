"""Fine-tuning and comparing, from the command to the folder and the page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headscope.report.panels import panels

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Rules, read
from headscope.errors import HeadscopeError, ModelError
from headscope.evidence.correlation import rank_correlation
from headscope.experiments.compare.compute import check_alike
from headscope.experiments.finetuning import cells, table
from headscope.experiments.finetuning.compute import Recipe, Start
from headscope.experiments.scan.passes import Options
from headscope.model import Model, Top
from headscope.model.initialise import load_untrained_classifier
from headscope.runs import rows_of
from tests.parity.test_tasks import MOVIES
from tests.tiny import tiny

SHORT = Recipe(epochs=2, batch=4, rate=1e-3, length=16)


@pytest.fixture(scope="module")
def movies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("movies") / "movies.csv"
    lines = ["text,label", *(f'"{text}",{label}' for text, label in MOVIES * 2)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tuned(movies: Path) -> Path:
    folder = movies.parent / "tuned"
    hs.finetune("minilm", f"classify:{movies}", folder, dev=str(movies), recipe=SHORT,
                progress=NoProgress())  # fmt: skip
    return folder


def test_a_fine_tuned_folder_loads_as_any_other(tuned: Path, minilm: Model) -> None:
    names = sorted(path.name for path in tuned.iterdir())
    assert {"config.json", "headscope.json", "model.safetensors", "tokenizer.json"} <= set(names)
    assert not any(name.startswith("checkpoint") or name.endswith(".part") for name in names)
    record = json.loads((tuned / "headscope.json").read_text())
    assert record["status"] == "complete"
    learned, before = (record[stage][0]["value"] for stage in ("trained", "untrained"))
    assert learned > before  # it can learn sixteen sentences
    model = hs.load(tuned, top=Top.CLASSIFIER)
    assert model.name == "tuned"
    assert model.whole.config.id2label == {0: "bad", 1: "good"}
    assert model.sha256 == hs.load(tuned).sha256 != minilm.sha256
    found = hs.ablate(tuned, f"classify:{record['study']['dev']['name'].split(':')[1]}",
                      heads=["L0.H0"], progress=NoProgress())  # fmt: skip
    assert found.record["intact"][0]["value"] == pytest.approx(learned)


class Stop(NoProgress):
    """Interrupts a training in its second epoch, and remembers where one began."""

    def __init__(self, after: int | None = None) -> None:
        self.after, self.steps, self.begun = after, 0, -1

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.begun = done

    def advance(self, amount: int) -> None:
        self.steps += amount
        if self.steps == self.after:
            raise KeyboardInterrupt


def test_a_killed_training_goes_on_to_the_same_model(movies: Path, tuned: Path) -> None:
    folder = movies.parent / "killed"
    options: dict[str, Any] = {"dev": str(movies), "recipe": SHORT}
    with pytest.raises(KeyboardInterrupt):
        hs.finetune("minilm", f"classify:{movies}", folder, progress=Stop(6), **options)
    torn = folder / "checkpoints" / "checkpoint-6"  # as a kill in the midst of saving leaves it
    shutil.copytree(folder / "checkpoints" / "checkpoint-4", torn)
    (torn / "trainer_state.json").write_text("{", encoding="utf-8")
    again = Stop()
    hs.finetune("minilm", f"classify:{movies}", folder, progress=again, **options)
    assert (again.begun, again.steps) == (4, 4)  # the first epoch is not done again
    ours, whole = (hs.load(one).network.state_dict() for one in (folder, tuned))
    for name in whole:
        torch.testing.assert_close(ours[name], whole[name], atol=1e-4, rtol=1e-3)
    options["recipe"] = Recipe(epochs=1)
    with pytest.raises(HeadscopeError, match="holds another training"):
        hs.finetune("minilm", f"classify:{movies}", folder, **options)


@pytest.mark.parametrize("family", ["distilbert", "modernbert", "roberta", "mpnet", "gpt2"])
def test_families_without_segments_can_be_tuned(family: str, movies: Path) -> None:
    start, folder = movies.parent / family, movies.parent / f"{family}-tuned"
    model = tiny(family)
    model.network.save_pretrained(start)
    model.tokenizer.save_pretrained(start)
    hs.finetune(start, f"classify:{movies}", folder, dev=str(movies), recipe=SHORT,
                progress=NoProgress())  # fmt: skip
    before, after = (hs.load(one).network.state_dict() for one in (start, folder))
    name = next(name for name in before if "layer" in name or name.startswith("h."))
    assert not torch.equal(before[name], after[name])


def test_the_table_of_three_starts(movies: Path, minilm: Model) -> None:
    out = movies.parent / "table"
    rows = table("minilm", [f"classify:{movies}"], out, recipe=SHORT, dev=str(movies),
                 progress=NoProgress())  # fmt: skip
    assert {row["start"] for row in rows} == {
        "pretrained", "random", "frozen", "frozen, untrained head"
    }  # fmt: skip
    (line,) = cells(rows)
    assert line[1:3] == ("accuracy", "50.0")
    folders = {start: next(out.glob(f"*-{start}-0")) for start in Start}
    frozen = hs.load(folders[Start.FROZEN]).network.state_dict()
    for name, weights in minilm.network.state_dict().items():
        same = torch.equal(frozen[name], weights)
        assert same is not name.startswith("pooler")  # only what is on top was trained
    name = "encoder.layer.0.output.dense.weight"
    drawn = hs.load(folders[Start.RANDOM]).network.state_dict()[name]
    assert not torch.allclose(drawn, minilm.network.state_dict()[name], atol=0.05)


@pytest.fixture(scope="module")
def compared(tuned: Path) -> hs.Found:
    options = Options(rules=Rules(min_count=20))
    return hs.compare("minilm", tuned, read("tour", limit=30), beside=random_classifier(),
                      options=options, progress=NoProgress())  # fmt: skip


def random_classifier() -> Model:
    return load_untrained_classifier("minilm", ["bad", "good"], random=True)


def test_similarity_is_the_mean_cosine(compared: hs.Found, tuned: Path, minilm: Model) -> None:
    other = hs.load(tuned)
    slow: dict[tuple[int, int], list[float]] = {}
    for example in read("tour", limit=30):
        (pieces,) = minilm.encode([example])
        inputs = minilm.batch([pieces]).inputs(minilm.network)
        maps = []
        for model in (minilm, other):
            model.network.set_attn_implementation("eager")
            with torch.no_grad():
                maps.append(model.network(**inputs, output_attentions=True).attentions)
            model.network.set_attn_implementation("sdpa")
        for layer, (before, after) in enumerate(zip(*maps, strict=True)):
            for head in range(minilm.heads):
                one, two = before[0, head].flatten(), after[0, head].flatten()
                cosine = torch.dot(one, two) / (one.norm() * two.norm())
                slow.setdefault((layer, head), []).append(float(cosine))
    rows = compared.change()
    assert len(rows) == 72
    for row in rows:
        assert row["value"] == pytest.approx(np.mean(slow[row["layer"], row["head"]]), abs=1e-5)
        assert row["n"] == 30
    assert rows[0]["value"] < 0.999  # it did learn something


def test_differences_are_those_of_two_scans(compared: hs.Found, tuned: Path, minilm: Model) -> None:
    options = Options(rules=Rules(min_count=20))
    scans = {
        weights: hs.scan(model, read("tour", limit=30), options=options, progress=NoProgress())
        for weights, model in (("base", minilm), ("tuned", hs.load(tuned)))
    }
    columns = ("analysis", "statistic", "group", "direction", "layer", "head")
    values = {
        (weights, *(row[column] for column in columns)): row["value"]
        for weights, found in scans.items()
        for row in found.heads.to_pylist()
    }
    seen = set()
    for row in rows_of(compared.heads, weights="difference"):
        if row["analysis"] != "change":
            key = tuple(row[column] for column in columns)
            expected = values["tuned", *key] - values["base", *key]
            assert row["value"] == pytest.approx(expected, abs=1e-6), key
            seen.add(row["analysis"])
    assert {"dependencies", "focus", "coreference", "special_tokens"} <= seen


def test_models_that_cannot_be_compared(minilm: Model) -> None:
    with pytest.raises(ModelError, match="3 of 4: there is nothing to compare head by head"):
        check_alike(minilm, tiny("bert"))
    one = tiny("bert")
    one.tokenizer.add_tokens(["brandnew"])
    with pytest.raises(ModelError, match="different tokenizers"):
        check_alike(tiny("bert"), one)
    with pytest.raises(HeadscopeError, match="load it twice"):
        hs.compare(minilm, minilm, "tour")


def test_panels_join_what_belongs_together(compared: hs.Found, tuned: Path, movies: Path) -> None:
    ablated = hs.ablate(tuned, f"classify:{movies}", progress=NoProgress())
    titles = [panel.title for panel in panels([compared, ablated])]
    assert titles == [
        "Change: minilm and tuned on tour",
        "What comes from pre-training: tour",
        f"Heads off: tuned on classify:{movies}, accuracy",
        "Do the heads that changed most matter most? tuned",
        "Resting on specials: tuned on tour",
        "Shapes side by side",
    ]
    one = np.arange(40.0)
    found = rank_correlation(one, one + np.random.default_rng(0).normal(0, 9, 40))
    assert found is not None
    assert found.low < found.value < found.high
