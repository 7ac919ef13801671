"""Small networks from features to classes: several of them, trained side by side."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses._shapes.classifier import Classifier

DIGITS = 4
"""Decimals of the weights that ship. They are the same whenever they are made on one machine; on
another one, rounding may lead the training elsewhere."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the small networks.

    Attributes:
        networks, hidden: how many, and how wide.
        batch: rows that each network sees in a step, drawn for itself.
        balance: classes are weighted by their size to minus this power.
        smooth: share of every target that is spread evenly over all classes.
    """

    networks: int = 6
    hidden: int = 64
    steps: int = 350
    batch: int = 512
    rate: float = 0.01
    decay: float = 0.3
    drop: float = 0.4
    balance: float = 0.0
    smooth: float = 0.02
    seed: int = 0


@dataclass(frozen=True)
class Rows:
    """Training data.

    Attributes:
        given: (row, feature)
        target: (row, annotator, class) probabilities, those of one row together.
        weight: (row,) how much each counts.
    """

    given: Floats
    target: Floats
    weight: Floats


def fitted(rows: Rows, blank: Rows, recipe: Recipe) -> dict[str, Tensor]:
    """Networks trained on some rows, and on blank ones, which do not enter the normalisation.

    Annotators have different tendencies, and none has seen all maps. A vote is therefore modelled
    as a common answer plus the annotator's own tendency; the mean over annotators is kept.
    """
    drawn = torch.Generator().manual_seed(recipe.seed)
    usual = torch.from_numpy(rows.given).float()
    mean, scale = usual.mean(0), usual.std(0).clamp_min(0.01)
    given, target, weight = (
        torch.from_numpy(np.concatenate(both)).float()
        for both in zip(astuple(rows), astuple(blank), strict=True)
    )
    flat = ((given - mean) / scale).clamp(-4, 4)

    def matrix(*size: int) -> Tensor:
        spread = size[0] ** -0.5
        made: Tensor = torch.randn(recipe.networks, *size, generator=drawn) * spread
        return made.requires_grad_()

    annotators, classes = target.shape[1:]
    weights = {"in": matrix(given.shape[1], recipe.hidden), "out": matrix(recipe.hidden, classes)}
    for name in ("in", "out"):
        width = weights[name].shape[-1]
        weights[f"{name} bias"] = torch.zeros(recipe.networks, 1, width, requires_grad=True)
    leaning = torch.zeros(recipe.networks, 1, annotators, classes, requires_grad=True)
    optimizer = torch.optim.AdamW(weights.values(), recipe.rate, weight_decay=recipe.decay)
    optimizer.add_param_group({"params": [leaning], "weight_decay": 0.0})
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, recipe.steps)
    for _ in range(recipe.steps):
        some = torch.randint(len(flat), (recipe.networks, recipe.batch), generator=drawn)
        hidden = torch.relu(flat[some] @ weights["in"] + weights["in bias"])
        alive = torch.rand(hidden.shape, generator=drawn) > recipe.drop
        scores = hidden * alive / (1 - recipe.drop) @ weights["out"] + weights["out bias"]
        said = (scores.unsqueeze(2) + leaning).log_softmax(-1)
        each = (said * target[some]).sum((-2, -1))
        loss = -(weight[some] * each).sum() / weight[some].sum()
        optimizer.zero_grad()
        torch.autograd.backward(loss * recipe.networks)
        optimizer.step()
        schedule.step()
    found = {name: one.detach() for name, one in weights.items()} | {"mean": mean, "scale": scale}
    found["out bias"] += leaning.detach().mean(2)
    found = {name: (one * 10**DIGITS).round() / 10**DIGITS for name, one in found.items()}
    return found | {"names": torch.eye(classes)}


def alone(tensors: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """The networks one by one."""
    own = [name for name, one in tensors.items() if one.dim() == 3]
    return [
        tensors | {name: tensors[name][place : place + 1] for name in own}
        for place in range(len(tensors["in"]))
    ]


def predicted(tensors: dict[str, Tensor], given: Floats) -> Floats:
    """(map, class) probabilities."""
    one = Classifier({f"shape {name}": tensor for name, tensor in tensors.items()})
    columns = torch.from_numpy(given).float().unbind(-1)
    named = {str(place): column for place, column in enumerate(columns)}
    return np.asarray(one.probabilities(named).double())
