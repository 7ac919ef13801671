"""Fine-tuning on a task (Kovaleva et al. 2019, section 3), by transformers' own trainer.

From pre-trained weights, from random ones, or with a frozen encoder under a classifier that alone
is trained. A killed training resumes from its last epoch; the folder loads as any other model.
"""

from __future__ import annotations

import errno
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
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
from headscope.evidence.metrics import Score
from headscope.experiments._shared.identity import task_record
from headscope.experiments.finetuning.hyperparameters import Hyperparameters, Start
from headscope.experiments.finetuning.tables import (
    COMPLETE,
    RUNNING,
    TrainingRecord,
    TrainingStudy,
)
from headscope.model import Model, save
from headscope.model.initialise import load_untrained_classifier
from headscope.runs.record import convert
from headscope.tasks import Case, Classification, Regression, Task, task

RECORD = "headscope.json"
CHECKPOINTS = "checkpoints"
TORCH_WRITER = ("PytorchStreamWriter", "inline_container", "iostream")
"""Named in the message of the RuntimeError that torch raises when it cannot write a file."""
Trainable = Classification | Regression


def train_and_dev(
    name: str, train: str, dev: str, *, glue_dir: str | Path | None, limit: int | None
) -> tuple[Trainable, Trainable]:
    """The training and the development part of a task (see `finetune`)."""
    training = trainable(task(name, part=train, glue_dir=glue_dir, limit=limit))
    if name.startswith("classify:"):
        if dev == "dev":
            raise HeadscopeError("a task of your own needs --dev FILE with its development part")
        name = f"classify:{dev}"
    development = trainable(task(name, part=dev, glue_dir=glue_dir))
    if isinstance(development, Classification) and isinstance(training, Classification):
        development = Classification(
            development.name, development.corpus, development.metrics, training.classes
        )
    return training, development


def trainable(given: Task) -> Trainable:
    """The task, if a model can be trained on it."""
    if isinstance(given, Classification | Regression):
        return given
    raise HeadscopeError(f"{given.name} has nothing to train; it needs classes or GLUE's scores")


@dataclass
class FineTuning:
    """One training: a model, a task, hyperparameters, a folder.

    Attributes:
        name: of the model, as the user wrote it.
        folder: where the model goes; it holds checkpoints as long as training is not finished.
    """

    name: str
    train: Trainable
    dev: Trainable
    hyperparameters: Hyperparameters
    folder: Path
    progress: Progress = field(default_factory=NoProgress)

    @property
    def study(self) -> TrainingStudy:
        """What identifies the training."""
        tasks = (task_record(self.train), task_record(self.dev))
        return TrainingStudy(self.name, self.hyperparameters.describe(), *tasks)

    def run(self) -> TrainingRecord:
        """Train, evaluate, save; the record is returned, and kept beside the model."""
        earlier = self._earlier()
        if earlier and earlier.status == COMPLETE:
            return earlier
        chosen = self.hyperparameters
        model = self._load()
        length = min(chosen.max_length, model.max_length)
        record = TrainingRecord(RUNNING, self.study, self.evaluate(model, length))
        with exclusive_folder(self.folder):
            with saving(self.folder, checkpoint_size(model, chosen.epochs)):
                self._write(record)
                steps = Steps(self.progress, f"{self.name} on {self.train.name}")
                train(model, self.train, chosen, self.folder / CHECKPOINTS, steps)
            record = record.completed(self.evaluate(model, length))
            with saving(self.folder, size_of(model.whole.parameters())):
                self._save(model, record)
        return record

    def _load(self) -> Model:
        """The model with an untrained classifier on top, as training starts with it."""
        chosen = self.hyperparameters
        labels = self.train.classes if isinstance(self.train, Classification) else ()
        model = load_untrained_classifier(
            self.name, labels, random=chosen.start is Start.RANDOM, seed=chosen.seed
        )
        if chosen.start is Start.FROZEN:
            for parameter in encoder_parameters(model):
                parameter.requires_grad_(False)
        return model

    def _earlier(self) -> TrainingRecord | None:
        """The record of the same training in the folder, if there is one."""
        path = self.folder / RECORD
        if path.exists():
            plain = json.loads(path.read_text(encoding="utf-8"))
            earlier = convert(plain, TrainingRecord, str(path))
            if earlier.study == self.study:
                return earlier
            raise HeadscopeError(f"{self.folder} holds another training; give another folder")
        if not is_empty(self.folder):
            raise HeadscopeError(f"{self.folder} has other things in it; give a new folder")
        return None

    def evaluate(self, model: Model, length: int) -> list[Score]:
        """The task's metrics on its development part, with intervals, as GLUE computes them."""
        cases = self.dev.cases(model, self.dev.examples, length)
        model.whole.train(False)
        return self.dev.score(self.dev.predict(model, cases, Budget()), cases)

    def _save(self, model: Model, record: TrainingRecord) -> None:
        """Write the model, then the record that says so, then drop the checkpoints."""
        save(model, self.folder)
        self._write(record)
        shutil.rmtree(self.folder / CHECKPOINTS, ignore_errors=True)

    def _write(self, record: TrainingRecord) -> None:
        text = json.dumps(msgspec.to_builtins(record), indent=2, ensure_ascii=False)
        write_text(self.folder / RECORD, text)


def train(
    model: Model,
    task: Trainable,
    hyperparameters: Hyperparameters,
    checkpoints: Path,
    steps: TrainerCallback,
) -> None:
    """Train a model on a task with transformers' own trainer, from its last checkpoint if any.

    Args:
        checkpoints: the folder of checkpoints, one per epoch.
        steps: is told how far training is.
    """
    if find_spec("accelerate") is None:
        raise HeadscopeError("fine-tuning needs accelerate: pip install 'headscope[finetune]'")
    cases = task.cases(model, task.examples, min(hyperparameters.max_length, model.max_length))
    trainer = Trainer(
        model=model.whole,
        args=_arguments(model, hyperparameters, checkpoints),
        train_dataset=[{"input_ids": case.texts[0].ids, "case": case} for case in cases],
        data_collator=_collator(model, task),
        callbacks=[steps],
    )
    trainer.remove_callback(PrinterCallback)
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.exists() else None
    trainer.train(resume_from_checkpoint=last)
    model.whole.train(False)


def _arguments(
    model: Model, hyperparameters: Hyperparameters, checkpoints: Path
) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=hyperparameters.epochs,
        per_device_train_batch_size=hyperparameters.batch_size,
        learning_rate=hyperparameters.effective_learning_rate,
        seed=hyperparameters.seed,
        use_cpu=model.network.device.type == "cpu",
        train_sampling_strategy="group_by_length",
        save_strategy="epoch",
        save_total_limit=1,
        logging_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
    )


def _collator(model: Model, task: Trainable) -> Callable[[list[dict[str, Any]]], dict[str, Tensor]]:
    """A function that turns examples of the trainer's data set into the inputs of the model."""
    label_type = torch.long if isinstance(task, Classification) else torch.float

    def collate(examples: list[dict[str, Any]]) -> dict[str, Tensor]:
        cases: list[Case] = [example["case"] for example in examples]
        labels = torch.tensor([case.gold for case in cases]).to(label_type)
        batch = model.batch([case.texts[0] for case in cases])
        return batch.inputs(model.network) | {"labels": labels.to(batch.ids.device)}

    return collate


def checkpoint_size(model: Model, epochs: float) -> int:
    """Bytes that checkpoints take at most: a new one is written before the old one goes."""
    parameters = list(model.whole.parameters())
    trained = size_of(parameter for parameter in parameters if parameter.requires_grad)
    once = size_of(parameters) + 2 * trained  # Adam keeps two numbers for each
    return once * min(2, math.ceil(epochs))


@contextmanager
def saving(folder: Path, needed: int) -> Iterator[None]:
    """Explain in a sentence why a folder cannot be written to; no torn checkpoint is left behind.

    Args:
        needed: bytes that will be written.
    """
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
    for checkpoint in (folder / CHECKPOINTS).glob("checkpoint-*"):
        try:
            json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(checkpoint)


def size_of(parameters: Iterable[nn.Parameter]) -> int:
    """Bytes of some parameters."""
    return sum(parameter.nbytes for parameter in parameters)


def encoder_parameters(model: Model) -> list[nn.Parameter]:
    """The parameters of the encoder itself; a pooler belongs to what is on top of it."""
    named = model.network.named_parameters()
    return [parameter for name, parameter in named if not name.startswith("pooler.")]


class Steps(TrainerCallback):
    """Reports the progress of the trainer."""

    def __init__(self, progress: Progress, text: str) -> None:
        self.progress, self.text = progress, text

    def on_train_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """Training begins, or is resumed."""
        self.progress.begin(self.text, state.max_steps, state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """A batch is done."""
        self.progress.advance(1)
        raise_if_interrupted()

    def on_train_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """Training is complete."""
        self.progress.end()
