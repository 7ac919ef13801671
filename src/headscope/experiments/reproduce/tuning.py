"""Models that recipes fine-tune on GLUE: every task and start once, kept with the runs.

Hyperparameters are the defaults of `Hyperparameters`, which are those of the papers: 3 epochs in
batches of 32 examples, learning rate 2e-5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import InputError
from headscope.experiments.finetuning.hyperparameters import Hyperparameters, Start
from headscope.experiments.reproduce.inputs import CannotReproduceError
from headscope.experiments.reproduce.workbench import RUNS, Quantities, Workbench

if TYPE_CHECKING:
    from headscope.experiments.finetuning.compute import Trainable
    from headscope.experiments.finetuning.tables import TrainingRecord
    from headscope.model import Model

GUESSES = "the model as fine-tuned here only guesses"
GLUE = "glue"
"""The input: the folder with the TSV files of GLUE."""
SAMPLES = {
    ("mnli", "train"): "train.sample9k",
    ("qnli", "train"): "train.sample9k",
    ("qqp", "train"): "train.sample9k",
    ("qqp", "dev"): "train.sample1k",
}
"""Files that stand for a part that is missing: samples of the training part, without overlap."""


@dataclass(frozen=True)
class TunedModel:
    """A model that was fine-tuned on a task of GLUE.

    Attributes:
        folder: loads as any other model.
        record: the metrics on the development part before and after training.
    """

    folder: Path
    record: TrainingRecord

    def load(self) -> Model:
        """The model with its classifier on top."""
        from headscope.model import Top, load

        return load(self.folder, top=Top.CLASSIFIER)

    def judged(self, found: Quantities) -> Quantities:
        """Numbers of this model, set apart where it has learned nothing: its first metric is
        within two standard errors of always guessing the commonest class, or of no correlation.
        """
        score = self.record.trained[0]
        gained = (score.value - (score.nothing or 0.0)) * score.better
        if gained > 2 * score.error:
            return found
        return {name: replace(number, apart=GUESSES) for name, number in found.items()}


def tuned(bench: Workbench, name: str, start: Start = Start.PRETRAINED) -> TunedModel:
    """The model of a workbench, fine-tuned on a task; what was trained before is used again.

    An interrupted training is resumed from its last epoch.

    Args:
        name: of the task, such as `mrpc`.
        start: from pre-trained or random weights, or with a frozen encoder.
    """
    from headscope.experiments.finetuning.compute import FineTuning
    from headscope.model.loading import quiet_transformers

    if bench.model.source is None:
        raise CannotReproduceError("only a model that has a name or a folder can be fine-tuned")
    training = FineTuning(
        bench.model.source,
        glue_part(bench, name, "train"),
        glue_part(bench, name, "dev"),
        Hyperparameters(start),
        bench.folder / RUNS / f"{name}-{start}",
        bench.progress,
    )
    with quiet_transformers():
        return TunedModel(training.folder, training.run())


def glue_part(bench: Workbench, name: str, part: str, *, at_most: int | None = None) -> Trainable:
    """The training or the development part of a task of GLUE, as far as it is there.

    Args:
        name: of the task, such as `mrpc`; part: `train` or `dev`.
        at_most: only the first examples, this many.
    """
    from headscope.corpus.readers.glue import glue_file
    from headscope.experiments.finetuning.compute import trainable
    from headscope.tasks import task

    folder = Path(bench.inputs.source(GLUE))
    limit = min(filter(None, (bench.inputs.limit, at_most)), default=None)
    for file in filter(None, (part, SAMPLES.get((name, part)))):
        try:
            glue_file(name, file, folder)
        except InputError:
            continue
        return trainable(task(f"glue/{name}", part=file, glue_dir=folder, limit=limit))
    raise CannotReproduceError(f"{folder.name} has no {part} part of {name}")
