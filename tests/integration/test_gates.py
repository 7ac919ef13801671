"""Hard-concrete gates: their distribution, and that they learn, the same with the same seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope._util.progress import NoProgress
from headscope.experiments._shared.head_curves import PRUNING
from headscope.experiments.gates import gates
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.gates.section import gates_sections
from headscope.experiments.gates.tables import GATES, open_shares
from headscope.experiments.gates.training import Gating, HardConcrete, open_durations
from headscope.model import Model
from headscope.tasks import task

MANY = 40_000


@pytest.mark.parametrize("place", [-3.0, -0.5, 0.0, 1.0, 4.0])
def test_gates_are_open_as_often_as_they_say(place: float) -> None:
    made = HardConcrete(1, 1, Schedule(start=place))
    drawn = made.draw(MANY, torch.Generator().manual_seed(1)).detach()
    assert float((drawn > 0).float().mean()) == pytest.approx(
        float(made.chance().detach()), abs=0.01
    )
    assert 0 <= float(drawn.min()) <= float(drawn.max()) <= 1
    assert ((drawn == 0) | (drawn == 1)).float().mean() > 0.4  # hard: often exactly 0 or 1


def test_gates_are_what_louizos_and_others_wrote_down() -> None:
    schedule = Schedule(start=0.7, temperature=0.5, stretch=(-0.2, 1.3))
    found = HardConcrete(1, 1, schedule).draw(5, torch.Generator().manual_seed(3)).flatten()
    even = (
        torch.rand(1, 5, 1, generator=torch.Generator().manual_seed(3)).flatten().double().numpy()
    )
    soft = 1 / (1 + np.exp(-(np.log(even) - np.log(1 - even) + 0.7) / 0.5))
    expected = np.minimum(1, np.maximum(0, soft * (1.3 + 0.2) - 0.2))
    assert np.allclose(found.detach(), expected, atol=1e-6)


def gating(model: Model, schedule: Schedule) -> Gating:
    some = task("tour", limit=16)
    return Gating(model, some, some.cases(model, some.examples, None), schedule)


def test_a_path_is_the_same_with_the_same_seed(minilm: Model) -> None:
    work = gating(minilm, Schedule(penalties=(0.1, 0.3), steps=3))
    one, same, other = (work.path(seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.chance, b.chance) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[-1].chance, other[-1].chance)
    assert one[0].model is minilm


def test_what_costs_nothing_stays_and_what_costs_much_goes(minilm: Model) -> None:
    free = gating(minilm, Schedule(penalties=(0.0,), steps=3, rate=0.5)).path(0)[-1]
    dear = gating(minilm, Schedule(penalties=(50.0,), steps=12, rate=0.5)).path(0)[-1]
    assert free.open.sum() > 60
    assert dear.open.sum() < 3


def test_an_encoder_that_learns_along_is_a_copy(minilm: Model) -> None:
    before = minilm.network.get_parameter("encoder.layer.0.attention.self.query.weight").clone()
    step = gating(minilm, Schedule(penalties=(0.1,), steps=2, encoder_rate=1e-3)).path(0)[-1]
    assert step.model is not None
    name = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(minilm.network.get_parameter(name), before)
    assert not torch.equal(step.model.network.get_parameter(name), before)
    assert not step.model.whole.training
    assert all(one.requires_grad for one in minilm.network.parameters())


def test_the_run_and_its_section(minilm: Model) -> None:
    schedule = Schedule(penalties=(0.1, 50.0), steps=10, rate=0.5)
    few = task("tour", limit=48)
    results = gates(minilm, few, schedule=schedule, seeds=2, progress=NoProgress())
    rows = results.rows(GATES)
    assert len(rows) == 2 * 2 * 72
    kept = {(row.draw, row.kept) for row in results.rows(PRUNING)}
    for seed in (0, 1):
        for penalty in schedule.penalties:
            opened = [row.open for row in rows if (row.seed, row.penalty) == (seed, penalty)]
            assert (seed, sum(opened)) in kept
    (section,) = gates_sections([results])
    assert len(section.rows) == 2
    shares = open_shares(results)
    assert len(shares) == 72
    for (layer, head), share in shares.items():
        opened = [row.open for row in rows if (row.layer, row.head) == (layer, head)]
        assert share == np.mean(opened)


def test_heads_whose_gates_stay_open_longer_score_higher(minilm: Model) -> None:
    path = gating(minilm, Schedule(penalties=(0.01, 0.03), steps=10, rate=0.5)).path(0)
    durations = open_durations([path])
    first, last = path[0].open, path[1].open
    always, closed_last, closed_first = first & last, first & ~last, ~first & ~last
    assert always.any()
    assert closed_last.any()
    assert closed_first.any()
    for heads, penalties in ((closed_first, 0), (closed_last, 1), (always, 2)):
        assert set(np.floor(durations[heads])) == {penalties}  # that their gates outlive
        likelier = np.argsort(path[-1].chance[heads])
        assert (np.diff(durations[heads][likelier]) > 0).all()  # orders those that close together
