"""Hyperparameters of fine-tuning; the defaults are those of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Start(StrEnum):
    """The weights that training starts from, and what it trains."""

    PRETRAINED = "pretrained"
    RANDOM = "random"
    FROZEN = "frozen"  # pre-trained; only what is on top of the encoder is trained


@dataclass(frozen=True)
class Hyperparameters:
    """How a model is fine-tuned.

    Attributes:
        epochs: passes over the training data; may be a fraction.
        batch_size: examples in a batch.
        learning_rate: where the whole model is trained.
        classifier_learning_rate: where only what is on top of a frozen encoder is trained.
        max_length: texts are cut to this many pieces.
        seed: of random weights and of the order of the examples.

    >>> Hyperparameters(Start.FROZEN).effective_learning_rate
    0.001
    """

    start: Start = Start.PRETRAINED
    epochs: float = 3
    batch_size: int = 32
    learning_rate: float = 2e-5
    classifier_learning_rate: float = 1e-3
    max_length: int = 128
    seed: int = 0

    @property
    def effective_learning_rate(self) -> float:
        """The learning rate that is used."""
        frozen = self.start is Start.FROZEN
        return self.classifier_learning_rate if frozen else self.learning_rate

    def describe(self) -> dict[str, str | float]:
        """What `headscope.json` keeps, under the names that it has always used."""
        return {
            "start": str(self.start),
            "epochs": self.epochs,
            "batch": self.batch_size,
            "length": self.max_length,
            "seed": self.seed,
            "learning_rate": self.effective_learning_rate,
        }
