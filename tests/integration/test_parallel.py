"""Two replicas read what one would; an error in either is raised; nothing is left changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict

import pytest
import torch

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import read
from headscope.evidence import HEADS
from headscope.evidence.example_tables import MAPS
from headscope.model import Model, WorkItems, disable, map_parallel, replicas_of
from headscope.model.attention import MapWatcher
from tests.tiny import CONFIGS, tiny


@pytest.fixture(params=[2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("family", CONFIGS)
def test_replicas_share_their_weights(family: str, threads: int) -> None:
    model = tiny(family)
    one, other = replicas_of(model)
    assert one is model
    assert other.network is not model.network
    weights = {weight.data_ptr() for weight in model.network.parameters()}
    assert {weight.data_ptr() for weight in other.network.parameters()} == weights
    batch = model.batch(model.encode([*read("tour", limit=2)], 32))
    seen: dict[str, list[torch.Tensor]] = {"one": [], "other": []}
    with (
        one.watch(MapWatcher(lambda _, maps: seen["one"].append(maps.clone()))) as first,
        other.watch(MapWatcher(lambda _, maps: seen["other"].append(maps.clone()))) as second,
    ):
        assert torch.equal(first.forward(batch), second.forward(batch))
    for mine, yours in zip(*seen.values(), strict=True):
        assert torch.equal(mine, yours)


def test_two_find_what_one_finds(minilm: Model, threads: int) -> None:
    two = hs.scan(minilm, read("tour"), progress=NoProgress())
    assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    assert len(replicas_of(minilm)) == 1
    alone = hs.scan(minilm, read("tour"), progress=NoProgress())
    for mine, yours in zip(two.rows(HEADS), alone.rows(HEADS), strict=True):
        assert asdict(mine) == pytest.approx(asdict(yours), abs=1e-6)
    assert [row.example for row in two.rows(MAPS)] == [row.example for row in alone.rows(MAPS)]


def test_a_network_with_hooks_has_no_replica(minilm: Model, threads: int) -> None:
    assert len(replicas_of(minilm)) == 2
    with disable(minilm, "L0.H0"):
        assert len(replicas_of(minilm)) == 1
    with minilm.watch():
        assert len(replicas_of(minilm)) == 1
    assert len(replicas_of(minilm)) == 2


def test_a_network_that_has_returned_its_attentions_has_a_replica(threads: int) -> None:
    """transformers leaves hooks behind, which are thread-safe."""
    model = tiny("bert")
    batch = model.batch(model.encode([*read("tour", limit=2)], 32))
    model.network(**batch.inputs(model.network), output_hidden_states=True)
    assert any(module._forward_hooks for module in model.network.modules())
    assert len(replicas_of(model)) == 2


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_in_one_thread_is_raised_and_stops_the_other(bad: int, threads: int) -> None:
    items = 60_000  # half of them would keep the other busy for half a minute
    done: list[int] = []

    def work(worker: int, numbers: WorkItems[int]) -> int:
        for item in numbers:
            if worker == bad:
                raise ValueError(f"{item} is bad")
            done.append(item)
            time.sleep(0.001)
        return worker

    with pytest.raises(ValueError, match="is bad"):
        map_parallel([0, 1], range(items), work)
    assert len(done) < items / 2
    assert torch.get_num_threads() == threads
