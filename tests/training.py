"""Training of small networks in which one of two heads of a layer can give nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def train_with_an_idle_head(
    network: nn.Module, columns: Tensor, loss: Callable[[], Tensor], steps: int, rate: float
) -> None:
    """Train a network; the first half of the inputs of an output projection counts for nothing.

    Args:
        columns: the weight of the projection.
        loss: of a new batch.
        rate: the highest learning rate.
    """
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.0, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.1)
    idle = columns.shape[1] // 2
    for _ in range(steps):
        columns.data[:, :idle] = 0
        optimizer.zero_grad()
        torch.autograd.backward(loss())
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    columns.data[:, :idle] = 0
