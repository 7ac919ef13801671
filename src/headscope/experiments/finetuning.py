"""Fine-tuning on a task (Kovaleva et al. 2019, section 3), by transformers' own trainer.

From pre-trained weights, from random ones, or with a frozen encoder under a head that alone is
trained. A killed training goes on from its last epoch; the folder loads as any other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.evidence.paired import Resamples
from headscope.interrupt import heed
from headscope.model import Model, fresh
from headscope.model.finding import pad_id
from headscope.progress import Silent
from headscope.tasks import Case, Classification, Regression

RECORD = "headscope.json"
CHECKPOINTS = "checkpoints"
Trained = Classification | Regression
Row = dict[str, Any]


class Start(StrEnum):
    """Where training starts, and what it trains."""

    PRETRAINED = "pretrained"
    RANDOM = "random"
    FROZEN = "frozen"  # pre-trained; only what is on top is trained


@dataclass(frozen=True)
class Recipe:
    """How a model is fine-tuned; the defaults are the papers'.

    Attributes:
        rate: of learning; None: 2e-5, and 1e-3 where only what is on top is trained.
        length: texts are cut to so many pieces.
    """

    start: Start = Start.PRETRAINED
    epochs: float = 3
    batch: int = 32
    rate: float | None = None
    length: int = 128
    seed: int = 0

    @property
    def learning_rate(self) -> float:
        """The rate that is used."""
        return self.rate or (1e-3 if self.start is Start.FROZEN else 2e-5)


@dataclass
class FineTuning:
    """One model, one task, one recipe, one folder.

    Attributes:
        folder: where the model goes; it holds checkpoints as long as training is not finished.
    """

    name: str
    train: Trained
    dev: Trained
    recipe: Recipe
    folder: Path
    progress: Silent = field(default_factory=Silent)

    @property
    def study(self) -> Row:
        """What identifies the training."""
        recipe = asdict(self.recipe) | {"learning_rate": self.recipe.learning_rate}
        data = {"train": self.train.describe(), "dev": self.dev.describe()}
        return json.loads(json.dumps({"model": self.name, "recipe": recipe} | data))  # type: ignore[no-any-return]

    def run(self) -> Row:
        """Train, evaluate, save; what was found is returned and kept beside the model."""
        earlier = self._earlier()
        if earlier and earlier["status"] == "complete":
            return earlier
        recipe = self.recipe
        labels = self.train.classes if isinstance(self.train, Classification) else ()
        model = fresh(self.name, labels, random=recipe.start is Start.RANDOM, seed=recipe.seed)
        if recipe.start is Start.FROZEN:
            for parameter in frozen(model):
                parameter.requires_grad_(False)
        length = min(recipe.length, model.max_length)
        before = self.evaluate(model, length)
        record = {"status": "running", "study": self.study, "untrained": before}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write(record)
        self._train(model, length)
        record |= {"trained": self.evaluate(model, length), "status": "complete"}
        self._save(model, record)
        return record

    def _earlier(self) -> Row | None:
        """The record of this very training in the folder, if there is one."""
        path = self.folder / RECORD
        if path.exists():
            earlier: Row = json.loads(path.read_text(encoding="utf-8"))
            if earlier.get("study") == self.study:
                return earlier
            raise HeadscopeError(f"{self.folder} holds another training; give another folder")
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise HeadscopeError(f"{self.folder} has other things in it; give a new folder")
        return None

    def _train(self, model: Model, length: int) -> None:
        if find_spec("accelerate") is None:
            raise HeadscopeError("fine-tuning needs accelerate: pip install 'headscope[finetune]'")
        recipe = self.recipe
        cases = self.train.cases(model, self.train.examples, length)
        checkpoints = self.folder / CHECKPOINTS
        arguments = TrainingArguments(
            output_dir=str(checkpoints),
            num_train_epochs=recipe.epochs,
            per_device_train_batch_size=recipe.batch,
            learning_rate=recipe.learning_rate,
            seed=recipe.seed,
            use_cpu=model.network.device.type == "cpu",
            train_sampling_strategy="group_by_length",
            save_strategy="epoch",
            save_total_limit=1,
            logging_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        dataset = [as_features(case, self.train) for case in cases]
        trainer = Trainer(
            model=model.whole,
            args=arguments,
            train_dataset=dataset,
            data_collator=lambda some: padded(some, pad_id(model.tokenizer)),
            callbacks=[Steps(self.progress, f"{self.name} on {self.train.name}")],
        )
        trainer.remove_callback(PrinterCallback)
        last = get_last_checkpoint(str(checkpoints)) if checkpoints.exists() else None
        trainer.train(resume_from_checkpoint=last)
        model.whole.train(False)

    def evaluate(self, model: Model, length: int) -> list[Row]:
        """The task's metrics on its development part, with intervals, as GLUE computes them."""
        cases = self.dev.cases(model, self.dev.examples, length)
        model.whole.train(False)
        predictions = self.dev.predict(model, cases, Budget())
        gold = np.array([case.gold for case in cases])
        resamples = Resamples([case.example.unit for case in cases])
        nothing = self.dev.knows_nothing(gold)
        found = []
        for metric in self.dev.metrics:
            low, high, error = resamples.interval(metric, predictions, gold)
            found.append(
                {"metric": metric.name, "value": metric(predictions, gold), "low": low,
                 "high": high, "error": error, "n": len(gold),
                 "nothing": None if nothing is None else metric(nothing, gold)}
            )  # fmt: skip
        return found

    def _save(self, model: Model, record: Row) -> None:
        """Write the model, then the record that says so, then drop the checkpoints."""
        part = self.folder / "model.part"
        shutil.rmtree(part, ignore_errors=True)
        model.whole.save_pretrained(part)
        model.tokenizer.save_pretrained(part)
        for file in part.iterdir():
            file.replace(self.folder / file.name)
        part.rmdir()
        self._write(record)
        shutil.rmtree(self.folder / CHECKPOINTS, ignore_errors=True)

    def _write(self, record: Row) -> None:
        part = self.folder / f"{RECORD}.part"
        part.write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")
        part.replace(self.folder / RECORD)


def frozen(model: Model) -> list[nn.Parameter]:
    """The parameters of the encoder itself; a pooler belongs to what is on top."""
    named = model.network.named_parameters()
    return [parameter for name, parameter in named if not name.startswith("pooler.")]


def as_features(case: Case, task: Trained) -> Row:
    """A case as the trainer wants it."""
    (pieces,) = case.texts
    label = int(case.gold) if isinstance(task, Classification) else case.gold
    return {"input_ids": pieces.ids.tolist(), "segments": pieces.segments.tolist(), "label": label}


def padded(features: Sequence[Row], pad: int) -> dict[str, Tensor]:
    """Cases padded to the longest of their batch."""
    length = max(len(one["input_ids"]) for one in features)

    def rows(name: str, fill: int) -> Tensor:
        return torch.tensor([one[name] + [fill] * (length - len(one[name])) for one in features])

    mask = [[1] * len(one["input_ids"]) for one in features]
    attention = torch.tensor([one + [0] * (length - len(one)) for one in mask])
    labels = torch.tensor([one["label"] for one in features])
    return {"input_ids": rows("input_ids", pad), "token_type_ids": rows("segments", 0),
            "attention_mask": attention, "labels": labels}  # fmt: skip


class Steps(TrainerCallback):
    """Tells the progress bar how far training is."""

    def __init__(self, progress: Silent, text: str) -> None:
        self.progress, self.text = progress, text

    def on_train_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """Training begins, or goes on."""
        self.progress.begin(self.text, state.max_steps, state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """A batch is done."""
        self.progress.advance(1)
        heed()

    def on_train_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """All is done."""
        self.progress.end()
