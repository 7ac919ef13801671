"""Fine-tuning on a task (Kovaleva et al. 2019, section 3), by transformers' own trainer.

From pre-trained weights, from random ones, or with a frozen encoder under a head that alone is
trained. A killed training goes on from its last epoch; the folder loads as any other.
"""

from __future__ import annotations

import errno
import json
import math
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from headscope._util.atomic import exclusive_folder, explain_write_errors, is_empty, write_text
from headscope._util.interrupt import raise_if_interrupted
from headscope._util.progress import NoProgress, Progress
from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.model import Model, save
from headscope.model.initialise import load_untrained_classifier
from headscope.tasks import Case, Classification, Regression

RECORD = "headscope.json"
CHECKPOINTS = "checkpoints"
TORCH_WRITER = ("PytorchStreamWriter", "inline_container", "iostream")
"""Who complains, in a RuntimeError, when torch cannot write a file."""
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
        rate: of learning.
        head_rate: of learning where only what is on top is trained.
        length: texts are cut to so many pieces.
    """

    start: Start = Start.PRETRAINED
    epochs: float = 3
    batch: int = 32
    rate: float = 2e-5
    head_rate: float = 1e-3
    length: int = 128
    seed: int = 0

    @property
    def learning_rate(self) -> float:
        """The rate that is used."""
        return self.head_rate if self.start is Start.FROZEN else self.rate


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
    progress: Progress = field(default_factory=NoProgress)

    @property
    def study(self) -> Row:
        """What identifies the training."""
        recipe = asdict(self.recipe) | {"learning_rate": self.recipe.learning_rate}
        del recipe["rate"], recipe["head_rate"]
        data = {"train": self.train.describe(), "dev": self.dev.describe()}
        as_kept: Row = json.loads(json.dumps({"model": self.name, "recipe": recipe} | data))
        return as_kept

    def run(self) -> Row:
        """Train, evaluate, save; what was found is returned and kept beside the model."""
        earlier = self._earlier()
        if earlier and earlier["status"] == "complete":
            return earlier
        recipe = self.recipe
        labels = self.train.classes if isinstance(self.train, Classification) else ()
        model = load_untrained_classifier(
            self.name, labels, random=recipe.start is Start.RANDOM, seed=recipe.seed
        )
        if recipe.start is Start.FROZEN:
            for parameter in frozen(model):
                parameter.requires_grad_(False)
        length = min(recipe.length, model.max_length)
        before = self.evaluate(model, length)
        record = {"status": "running", "study": self.study, "untrained": before}
        with exclusive_folder(self.folder):
            with saving(self.folder, checkpoint_size(model, recipe.epochs)):
                self._write(record)
                text = f"{self.name} on {self.train.name}"
                train(
                    model, self.train, recipe, self.folder / CHECKPOINTS, Steps(self.progress, text)
                )
            record |= {"trained": self.evaluate(model, length), "status": "complete"}
            with saving(self.folder, size_of(model.whole.parameters())):
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
        if not is_empty(self.folder):
            raise HeadscopeError(f"{self.folder} has other things in it; give a new folder")
        return None

    def evaluate(self, model: Model, length: int) -> list[Row]:
        """The task's metrics on its development part, with intervals, as GLUE computes them."""
        cases = self.dev.cases(model, self.dev.examples, length)
        model.whole.train(False)
        return self.dev.score(self.dev.predict(model, cases, Budget()), cases)

    def _save(self, model: Model, record: Row) -> None:
        """Write the model, then the record that says so, then drop the checkpoints."""
        save(model, self.folder)
        self._write(record)
        shutil.rmtree(self.folder / CHECKPOINTS, ignore_errors=True)

    def _write(self, record: Row) -> None:
        write_text(self.folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False))


def train(
    model: Model, task: Trained, recipe: Recipe, checkpoints: Path, steps: TrainerCallback
) -> None:
    """Train a model on a task, by transformers' own trainer; it goes on from its last checkpoint.

    Args:
        steps: is told how far training is.
    """
    if find_spec("accelerate") is None:
        raise HeadscopeError("fine-tuning needs accelerate: pip install 'headscope[finetune]'")
    cases = task.cases(model, task.examples, min(recipe.length, model.max_length))
    kind = torch.long if isinstance(task, Classification) else torch.float

    def features(some: list[Row]) -> dict[str, Tensor]:
        chosen: list[Case] = [one["case"] for one in some]
        labels = torch.tensor([case.gold for case in chosen]).to(kind)
        batch = model.batch([case.texts[0] for case in chosen])
        return batch.inputs(model.network) | {"labels": labels.to(batch.ids.device)}

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
    trainer = Trainer(
        model=model.whole,
        args=arguments,
        train_dataset=[{"input_ids": case.texts[0].ids, "case": case} for case in cases],
        data_collator=features,
        callbacks=[steps],
    )
    trainer.remove_callback(PrinterCallback)
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.exists() else None
    trainer.train(resume_from_checkpoint=last)
    model.whole.train(False)


def checkpoint_size(model: Model, epochs: float) -> int:
    """Bytes that checkpoints take at most: a new one is written before the old one goes."""
    parameters = list(model.whole.parameters())
    trained = size_of(one for one in parameters if one.requires_grad)
    once = size_of(parameters) + 2 * trained  # Adam keeps two numbers for each
    return once * min(2, math.ceil(epochs))


@contextmanager
def saving(folder: Path, needed: int) -> Iterator[None]:
    """Say in a sentence that a folder cannot take what is to be saved; no torn checkpoint stays."""
    _drop_torn(folder)  # of a process that was killed
    with explain_write_errors(folder):
        if shutil.disk_usage(folder).free < needed:
            raise OSError(errno.ENOSPC, "no room")
        try:
            yield
        except (SafetensorError, RuntimeError) as error:
            torch_failed = any(name in str(error) for name in TORCH_WRITER)
            if isinstance(error, SafetensorError) or torch_failed:
                raise OSError(errno.ENOSPC, str(error)) from error
            raise
        finally:
            _drop_torn(folder)


def _drop_torn(folder: Path) -> None:
    """Remove checkpoints that are not whole; the trainer writes its state last."""
    for one in (folder / CHECKPOINTS).glob("checkpoint-*"):
        try:
            json.loads((one / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(one)


def size_of(parameters: Iterable[nn.Parameter]) -> int:
    """Bytes of some parameters."""
    return sum(one.nbytes for one in parameters)


def frozen(model: Model) -> list[nn.Parameter]:
    """The parameters of the encoder itself; a pooler belongs to what is on top."""
    named = model.network.named_parameters()
    return [parameter for name, parameter in named if not name.startswith("pooler.")]


class Steps(TrainerCallback):
    """Tells the progress bar how far training is."""

    def __init__(self, progress: Progress, text: str) -> None:
        self.progress, self.text = progress, text

    def on_train_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """Training begins, or goes on."""
        self.progress.begin(self.text, state.max_steps, state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """A batch is done."""
        self.progress.advance(1)
        raise_if_interrupted()

    def on_train_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """All is done."""
        self.progress.end()
