"""Fine-tuning and comparing, from the command to the folder and the page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope._util.progress import NoProgress, Progress
from headscope.corpus import read
from headscope.errors import HeadscopeError, ModelError
from headscope.evidence import HEADS, HeadRow
from headscope.experiments.ablation.tables import intact_score
from headscope.experiments.compare import changes
from headscope.experiments.compare.compute import check_alike
from headscope.experiments.compare.tables import CHANGE, DIFFERENCE
from headscope.experiments.finetuning import Hyperparameters, Start, finetune_table
from headscope.experiments.finetuning.tables import COLUMNS, TrainingRecord, table_cells
from headscope.model import Model, Top
from headscope.model.initialise import load_untrained_classifier
from headscope.report.page import render, sections_of
from tests.pages import page_views
from tests.parity.test_tasks import MOVIES
from tests.tiny import tiny

SHORT = Hyperparameters(epochs=2, batch_size=4, learning_rate=1e-3, max_length=16)
SETTINGS = hs.Settings(min_count=20)


@pytest.fixture(scope="module")
def movies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("movies") / "movies.csv"
    lines = ["text,label", *(f'"{text}",{label}' for text, label in MOVIES * 2)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tuned(movies: Path) -> Path:
    folder = movies.parent / "tuned"
    tune("minilm", movies, folder)
    return folder


def tune(
    model: str | Path,
    movies: Path,
    folder: Path,
    chosen: Hyperparameters = SHORT,
    progress: Progress | None = None,
) -> TrainingRecord:
    return hs.finetune(
        model,
        f"classify:{movies}",
        folder,
        dev=str(movies),
        hyperparameters=chosen,
        progress=progress or NoProgress(),
    )


def test_a_fine_tuned_folder_loads_as_any_other(tuned: Path, minilm: Model) -> None:
    names = sorted(path.name for path in tuned.iterdir())
    assert {"config.json", "headscope.json", "model.safetensors", "tokenizer.json"} <= set(names)
    assert not any(name.startswith("checkpoint") or name.endswith(".part") for name in names)
    record = json.loads((tuned / "headscope.json").read_text())
    assert record["status"] == "complete"
    assert record["study"]["recipe"] == SHORT.describe()
    learned, before = (record[stage][0]["value"] for stage in ("trained", "untrained"))
    assert learned > before  # it can learn sixteen sentences
    model = hs.load(tuned, top=Top.CLASSIFIER)
    assert model.name == "tuned"
    assert model.whole.config.id2label == {0: "bad", 1: "good"}
    assert model.sha256 == hs.load(tuned).sha256 != minilm.sha256
    ablated = hs.ablate(
        tuned, record["study"]["dev"]["name"], heads=["L0.H0"], progress=NoProgress()
    )
    assert intact_score(ablated).value == pytest.approx(learned)


def test_a_finished_training_is_loaded(tuned: Path, movies: Path) -> None:
    before = (tuned / "model.safetensors").stat().st_mtime_ns
    record = tune("minilm", movies, tuned)
    assert (tuned / "model.safetensors").stat().st_mtime_ns == before
    assert record.trained[0].value > record.untrained[0].value


def test_a_record_of_an_older_version_is_understood(tuned: Path, movies: Path) -> None:
    path = tuned / "headscope.json"
    written = path.read_text(encoding="utf-8")
    plain = json.loads(written)
    for part in ("train", "dev"):  # older versions left out what is not set
        del plain["study"][part]["half"], plain["study"][part]["data"]["part"]
    path.write_text(json.dumps(plain), encoding="utf-8")
    assert tune("minilm", movies, tuned).status == "complete"
    path.write_text(written, encoding="utf-8")


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
    with pytest.raises(KeyboardInterrupt):
        tune("minilm", movies, folder, progress=Stop(6))
    torn = folder / "checkpoints" / "checkpoint-6"  # as a kill in the midst of saving leaves it
    shutil.copytree(folder / "checkpoints" / "checkpoint-4", torn)
    (torn / "trainer_state.json").write_text("{", encoding="utf-8")
    again = Stop()
    tune("minilm", movies, folder, progress=again)
    assert (again.begun, again.steps) == (4, 4)  # the first epoch is not done again
    resumed, whole = (hs.load(path).network.state_dict() for path in (folder, tuned))
    for name in whole:
        torch.testing.assert_close(resumed[name], whole[name], atol=1e-4, rtol=1e-3)
    with pytest.raises(HeadscopeError, match="holds another training"):
        tune("minilm", movies, folder, Hyperparameters(epochs=1))


@pytest.mark.parametrize("family", ["distilbert", "modernbert", "roberta", "mpnet", "gpt2"])
def test_families_without_segments_can_be_tuned(family: str, movies: Path) -> None:
    start, folder = movies.parent / family, movies.parent / f"{family}-tuned"
    model = tiny(family)
    model.network.save_pretrained(start)
    model.tokenizer.save_pretrained(start)
    tune(start, movies, folder)
    before, after = (hs.load(path).network.state_dict() for path in (start, folder))
    name = next(name for name in before if "layer" in name or name.startswith("h."))
    assert not torch.equal(before[name], after[name])


def test_the_table_of_three_starts(movies: Path, minilm: Model) -> None:
    out = movies.parent / "table"
    rows = finetune_table(
        "minilm",
        [f"classify:{movies}"],
        out,
        hyperparameters=SHORT,
        dev=str(movies),
        progress=NoProgress(),
    )
    assert {row.start for row in rows} == set(COLUMNS[3:])
    (line,) = table_cells(rows)
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
def compared(tuned: Path) -> hs.RunResults:
    return hs.compare(
        "minilm",
        tuned,
        read("tour", limit=30),
        beside=random_classifier(),
        settings=SETTINGS,
        progress=NoProgress(),
    )


def random_classifier() -> Model:
    return load_untrained_classifier("minilm", ["bad", "good"], random=True)


def test_similarity_is_the_mean_cosine(compared: hs.RunResults, tuned: Path, minilm: Model) -> None:
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
    rows = changes(compared)
    assert len(rows) == 72
    for row in rows:
        assert row.value == pytest.approx(np.mean(slow[row.place]), abs=1e-5)
        assert row.n == 30
    assert rows[0].value < 0.999  # it did learn something


def key(row: HeadRow) -> tuple[str | int | None, ...]:
    """What a number is of."""
    return row.analysis, row.statistic, row.group, row.direction, row.layer, row.head


def test_differences_are_those_of_two_scans(
    compared: hs.RunResults, tuned: Path, minilm: Model
) -> None:
    values = {
        (weights, *key(row)): row.value
        for weights, model in (("base", minilm), ("tuned", hs.load(tuned)))
        for row in hs.scan(
            model, read("tour", limit=30), settings=SETTINGS, progress=NoProgress()
        ).rows(HEADS)
    }
    seen = set()
    for row in compared.rows(HEADS, weights=DIFFERENCE):
        if row.analysis != CHANGE:
            expected = values["tuned", *key(row)] - values["base", *key(row)]
            assert row.value == pytest.approx(expected, abs=1e-6), key(row)
            seen.add(row.analysis)
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


def test_a_comparison_of_nothing_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "plain.txt"
    text.write_text("Just words.\n", encoding="utf-8")
    with pytest.raises(HeadscopeError, match="dependencies cannot be done on plain"):
        hs.compare("minilm", "minilm", text, only=["dependencies"], progress=NoProgress())


def test_sections_join_what_belongs_together(
    compared: hs.RunResults, tuned: Path, movies: Path
) -> None:
    ablated = hs.ablate(tuned, f"classify:{movies}", progress=NoProgress())
    titles = [section.title for section in sections_of([compared, ablated])]
    assert titles == [
        f"Heads off: tuned on classify:{movies}, accuracy",
        "Change: minilm and tuned on tour",
        "What comes from pre-training: tour",
        "Do the heads that changed most matter most? tuned",
        "Resting on specials: tuned on tour",
        "Shapes side by side",
    ]
    assert all("changed most" in view["headline"] for view in page_views(render([compared])))
    assert not any(
        "changed" in view["headline"] for view in page_views(render([compared, ablated]))
    )
