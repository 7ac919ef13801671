"""What heads give on average: what stands in for a head that is off by its mean."""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor

from headscope.corpus import Budget
from headscope.model import Batch, HeadOutputs, Model, evaluating, intercept_head_outputs
from headscope.tasks import Case, Task


@torch.inference_mode()
def average_head_outputs(model: Model, task: Task, cases: list[Case], budget: Budget) -> Tensor:
    """(layer, head, size) what each head gives on average over all tokens of the data."""
    sums: dict[int, Tensor] = {}
    counts: Counter[int] = Counter()
    reading: list[Batch] = []

    def add(outputs: HeadOutputs) -> Tensor:
        queries, _ = reading[0].sides(model.numbered_sites[outputs.layer].kind)
        total = outputs.context[queries.real].double().sum(0)
        sums[outputs.layer] = sums.get(outputs.layer, 0) + total
        counts[outputs.layer] += int(queries.real.sum())
        return outputs.context

    intercepted = intercept_head_outputs(model.network, model.adapter, add)
    with evaluating(model.whole), intercepted:
        for batch in task.batches(model, cases, budget):
            reading[:] = [batch.batch]
            model.network(**batch.inputs(model))
    size = max(total.shape[1] for total in sums.values())
    means = torch.zeros(model.layers, model.heads, size, device=model.network.device)
    for layer, total in sums.items():
        means[layer, : len(total), : total.shape[1]] = (total / counts[layer]).float()
    return means
