"""A head that is off equals uniform weights written into the attention function itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import headscope as hs
from headscope.corpus import Example
from headscope.errors import HeadscopeError
from headscope.model import Model, Replacement, VariantRunner, disable, reads_first_only
from headscope.model.adapters import Route
from headscope.model.batch import Batch
from tests.tiny import CONFIGS, tiny

PADDED = ["ab cd ef . gh ij kl", "a", "aabb cc , dd"]
UNPADDED = ["ab cd ef .", "gh ij kl ,"]
LONG = [" ".join(["ab", "cd", "ef", "gh"] * 6), "ab cd"]  # beyond ModernBERT's window
DROPOUTS = {"mpnet": "attention.attn.dropout", "deberta-v2": "attention.self.dropout"}
"""Right after the softmax, in a layer of a family that calls no attention function."""
OFF = [(0, 1), (0, 3), (2, 0)]
FAMILIES = [*CONFIGS, "llama"]


def batch_of(model: Model, texts: list[str]) -> Batch:
    return model.batch(model.encode([Example(str(n), text=text) for n, text in enumerate(texts)]))


@torch.no_grad()
def output(model: Model, batch: Batch) -> Tensor:
    found: Tensor = model.network(**batch.inputs(model.network))[0]
    return found


@contextmanager
def uniform_weights(model: Model, batch: Batch, off: list[tuple[int, int]]) -> Iterator[None]:
    """The slow, obvious way: attention computed plainly, the weights of some heads overwritten."""
    turn = [0]

    def overwrite(weights: Tensor, seen: Tensor) -> Tensor:
        for layer, head in off:
            if layer == turn[0]:
                weights[:, head] = seen[:, 0] / seen[:, 0].sum(-1, keepdim=True).clamp(min=1)
        turn[0] += 1
        return weights

    def attend(
        _: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scaling: float,
        **__: Any,
    ) -> tuple[Tensor, None]:
        groups = query.shape[1] // key.shape[1]
        key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
        scores = query @ key.mT * scaling
        mask = torch.zeros_like(scores[:, :1]) if mask is None else mask
        weights = overwrite(torch.softmax(scores + mask, -1), (mask == 0).float())
        return (weights @ value).transpose(1, 2).contiguous(), None

    def dropped(_: nn.Module, __: Any, weights: Tensor) -> Tensor:
        real = batch.real[:, None, None, :].float()
        return overwrite(weights.clone(), real.expand(-1, 1, weights.shape[-2], -1))

    with ExitStack() as undo:
        if model.adapter.route is Route.SOFTMAX:  # right after the softmax there is a dropout
            for block in model.adapter.blocks(model.network):
                dropout = block.get_submodule(DROPOUTS[model.adapter.family])
                undo.callback(dropout.register_forward_hook(dropped).remove)
        else:
            AttentionInterface.register("reference", attend)
            AttentionMaskInterface.register("reference", eager_mask)
            undo.callback(
                model.network.set_attn_implementation, model.network.config._attn_implementation
            )
            model.network.set_attn_implementation("reference")
        yield


@pytest.mark.parametrize("texts", [PADDED, UNPADDED, LONG], ids=["padded", "unpadded", "long"])
@pytest.mark.parametrize("family", FAMILIES)
def test_off_equals_uniform_weights(family: str, texts: list[str]) -> None:
    model = tiny(family)
    batch = batch_of(model, texts)
    before = output(model, batch)
    with disable(model, OFF):
        ours = output(model, batch)
    with uniform_weights(model, batch, OFF):
        reference = output(model, batch)
    torch.testing.assert_close(ours[batch.real], reference[batch.real], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(ours[batch.real], before[batch.real], atol=1e-3)
    assert torch.equal(output(model, batch), before)


@pytest.mark.parametrize("name", ["minilm", "gte-small", "all-mpnet-base-v2", "albert-kor-base"])
def test_real_models(name: str, request: pytest.FixtureRequest) -> None:
    here = name == "minilm"
    place = name if here else request.getfixturevalue("models") / name
    model = hs.load(place)
    batch = batch_of(model, ["The cat that we fed sat down.", "Yes.", "5,000 won (in cash)."])
    off = [(0, 1), (3, 5), (model.layers - 1, 2)]
    with disable(model, off):
        ours = output(model, batch)
    with uniform_weights(model, batch, off):
        reference = output(model, batch)
    torch.testing.assert_close(ours[batch.real], reference[batch.real], atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("family", ["bert", "gpt2", "mpnet"])
def test_zero_and_mean(family: str) -> None:
    model = tiny(family)
    batch = batch_of(model, PADDED)
    size = model.network.config.hidden_size // model.heads
    means = torch.randn(model.layers, model.heads, size)
    for how, instead in (("zero", torch.zeros_like(means)), ("mean", means)):
        with disable(model, OFF, how, means):
            ours = output(model, batch)
        with projections_see(model, OFF, instead):
            reference = output(model, batch)
        torch.testing.assert_close(ours[batch.real], reference[batch.real], atol=1e-5, rtol=1e-4)


@contextmanager
def projections_see(model: Model, off: list[tuple[int, int]], instead: Tensor) -> Iterator[None]:
    """The slow way for given outputs: slices of what enters each output projection."""
    with ExitStack() as undo:
        for layer, block in enumerate(model.adapter.blocks(model.network)):
            projection = block.get_submodule(model.adapter.output_projection)

            def put(_: nn.Module, arguments: tuple[Tensor], layer: int = layer) -> tuple[Tensor]:
                entering = arguments[0].clone()
                size = instead.shape[-1]
                for where, head in off:
                    if where == layer:
                        entering[..., head * size : (head + 1) * size] = instead[layer, head]
                return (entering,)

            undo.callback(projection.register_forward_pre_hook(put).remove)
        yield


def test_nested_and_left_by_an_exception(minilm: Model) -> None:
    batch = batch_of(minilm, ["The cat sleeps.", "No."])
    before, hooks = output(minilm, batch), hooks_of(minilm)
    implementation = minilm.network.config._attn_implementation
    with disable(minilm, OFF):
        together = output(minilm, batch)
    with disable(minilm, "L0.H1"), disable(minilm, ["L0.H3", (2, 0)]):
        assert torch.allclose(output(minilm, batch), together, atol=1e-6)
    with pytest.raises(RuntimeError, match="mine"), disable(minilm, "L1"), disable(minilm, "L2"):
        raise RuntimeError("mine")
    assert torch.equal(output(minilm, batch), before)
    assert minilm.network.config._attn_implementation == implementation
    assert hooks_of(minilm) == hooks


def hooks_of(model: Model) -> int:
    """How many hooks there are (transformers itself leaves some, once weights were asked for)."""
    modules = model.network.modules()
    return sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in modules)


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_watching_and_disabling_in_any_order(family: str) -> None:
    model = tiny(family)
    batch = batch_of(model, PADDED)
    with disable(model, OFF):
        expected = output(model, batch)
        with model.watch() as tap:
            torch.testing.assert_close(
                tap.forward(batch)[batch.real], expected[batch.real], atol=1e-5, rtol=1e-4
            )
    with model.watch() as tap, disable(model, OFF):
        torch.testing.assert_close(
            tap.forward(batch)[batch.real], expected[batch.real], atol=1e-5, rtol=1e-4
        )


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ("L9.H0", "there is no L9.H0: the model has 6 layers of 12 heads"),
        ([(0, 12)], "there is no L0.H12"),
        ("L3,H4", "'H4' is not a head"),
        ("L-1", "not a head"),
    ],
)
def test_heads_that_do_not_exist_are_refused(minilm: Model, heads: Any, message: str) -> None:
    with pytest.raises(HeadscopeError, match=message), disable(minilm, heads):
        pass


def test_ways_that_do_not_exist_are_refused(minilm: Model) -> None:
    with pytest.raises(HeadscopeError, match="uniform, zero, mean"), disable(minilm, "L0", "off"):
        pass
    with pytest.raises(HeadscopeError, match="mean outputs"), disable(minilm, "L0", "mean"):
        pass


@pytest.mark.parametrize("family", ["bloom", "llama"])
def test_off_equals_no_output_weights_in_a_family_without_an_adapter(family: str) -> None:
    model = tiny(family)
    batch = batch_of(model, PADDED)
    with disable(model, "L1.H2", "zero"):
        ours = output(model, batch)
    weight = model.adapter.projection_of(model.network, 1).get_parameter("weight")
    size = weight.shape[1] // model.heads
    with torch.no_grad():
        weight[:, 2 * size : 3 * size] = 0
    reference = output(model, batch)
    torch.testing.assert_close(ours[batch.real], reference[batch.real], atol=1e-5, rtol=1e-4)


Read = Callable[[dict[str, Tensor], int], Tensor]


def pooled(model: Model) -> Read:
    """A task that reads every token."""

    def read(inputs: dict[str, Tensor], times: int) -> Tensor:
        states: Tensor = model.network(**inputs)[0]
        real = inputs["attention_mask"][..., None]
        return ((states * real).sum(1) / real.sum(1)).view(times, -1, states.shape[-1])

    return read


def first(model: Model) -> Read:
    """A task that reads the first token alone."""

    def read(inputs: dict[str, Tensor], times: int) -> Tensor:
        states: Tensor = model.network(**inputs)[0]
        return states[:, 0].view(times, -1, states.shape[-1])

    return read


@pytest.mark.parametrize("how", list(Replacement))
@pytest.mark.parametrize("reader", [pooled, first])
@pytest.mark.parametrize("family", FAMILIES)
def test_variants_equal_one_by_one(
    family: str, reader: Callable[[Model], Read], how: Replacement
) -> None:
    model = tiny(family)
    inputs = batch_of(model, PADDED).inputs(model.network)
    run = reader(model)
    assert reads_first_only(model, inputs, run) is (reader is first)
    size = model.network.config.hidden_size // model.heads
    means = torch.randn(model.layers, model.heads, size)
    every = list(range(model.heads))
    variants = {layer: [[head] for head in every] + [every, [1, 2]] for layer in (0, 2)}
    runner = VariantRunner(model, variants, how, means, first_only=reader is first)
    intact, found = runner(inputs, run)
    with torch.no_grad():
        torch.testing.assert_close(intact, run(inputs, 1)[0], atol=1e-5, rtol=1e-4)
        for layer, sets in variants.items():
            for place, heads in enumerate(sets):
                with disable(model, [(layer, head) for head in heads], how, means):
                    reference = run(inputs, 1)[0]
                torch.testing.assert_close(found[layer][place], reference, atol=1e-5, rtol=1e-4)


def test_fork_leaves_the_model_as_it_was(minilm: Model) -> None:
    batch = batch_of(minilm, ["The cat sleeps.", "No."])
    before = output(minilm, batch)

    def fails(inputs: dict[str, Tensor], times: int) -> Tensor:
        found = pooled(minilm)(inputs, times)
        if times > 1:
            raise RuntimeError("mine")
        return found

    with pytest.raises(RuntimeError, match="mine"):
        VariantRunner(minilm, {2: [[0], [1]]})(batch.inputs(minilm.network), fails)
    assert torch.equal(output(minilm, batch), before)
    assert all("forward" not in vars(module) for module in minilm.network.modules())


def test_variants_of_real_models(models: Path) -> None:
    for name in ("gte-small", "all-mpnet-base-v2", "albert-kor-base"):
        model = hs.load(models / name)
        inputs = batch_of(model, ["The cat that we fed sat down.", "Yes."]).inputs(model.network)
        run = pooled(model)
        _, found = VariantRunner(model, {4: [[3], [7]]})(inputs, run)
        for place, head in enumerate((3, 7)):
            with disable(model, [(4, head)]), torch.no_grad():
                reference = run(inputs, 1)[0]
            torch.testing.assert_close(found[4][place], reference, atol=1e-4, rtol=1e-3)
