"""Heads that are removed against heads that give nothing, family by family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, BertConfig

from headscope.corpus import Example
from headscope.errors import ModelError
from headscope.model import Model, Top, disable, load, remove, save, wrap
from headscope.model.pruned.usage import loading_lines
from headscope.testing import tiny_tokenizer
from tests.tiny import CONFIGS, tiny

GONE = "L0.H1,L1,L2.H0,L2.H3"
FAMILIES = [family for family in CONFIGS if family != "albert"]


@torch.inference_mode()
def output(model: Model) -> Tensor:
    """(real token, hidden) of two texts of different lengths."""
    texts = [Example("1", text="ab cd, ef gh ab. cd"), Example("2", text="gh a.")]
    batch = model.batch(model.encode(texts))
    states: Tensor = model.network(**batch.inputs(model.network))[0]
    return states[batch.real]


def means_of(model: Model) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(model.layers, model.heads, 8)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_heads_is_as_with_heads_at_zero(family: str) -> None:
    model = tiny(family)
    before = output(model)
    with disable(model, GONE, "zero"):
        expected = output(model)
    found = output(remove(model, GONE))
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, before, atol=1e-2)  # something was there to be lost
    assert torch.equal(output(model), before)  # the model itself is as it was


@pytest.mark.parametrize("family", FAMILIES)
def test_means_are_folded_into_the_bias(family: str) -> None:
    model = tiny(family)
    means = means_of(model)
    with disable(model, GONE, "mean", means):
        expected = output(model)
    assert torch.allclose(output(remove(model, GONE, means)), expected, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("folded", [False, True])
def test_a_folder_loads_again(family: str, folded: bool, tmp_path: Path) -> None:
    model = tiny(family)
    pruned = remove(model, GONE, means_of(model) if folded else None)
    save(pruned, tmp_path)
    again = load(tmp_path)
    assert torch.allclose(output(again), output(pruned), atol=1e-6)
    assert "5 of 12 heads" in repr(again)
    size = sum(one.numel() for one in again.network.parameters())
    assert size < sum(one.numel() for one in model.network.parameters())


def test_a_classifier_and_a_bare_encoder_load_from_one_folder(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = BertConfig(**CONFIGS["bert"].to_diff_dict() | {"num_labels": 3})
    whole = AutoModelForSequenceClassification.from_config(config).eval()
    pruned = remove(wrap(whole, tiny_tokenizer()), GONE)
    save(pruned, tmp_path)
    with_top, bare = load(tmp_path, top=Top.CLASSIFIER), load(tmp_path)
    ids = {"input_ids": torch.tensor([[2, 7, 9, 3]])}
    with torch.inference_mode():
        assert torch.allclose(with_top.whole(**ids).logits, pruned.whole(**ids).logits, atol=1e-6)
    assert torch.allclose(output(bare), output(pruned), atol=1e-6)


def test_every_head_of_a_model_may_go() -> None:
    model = tiny("bert")
    with disable(model, "L0,L1,L2", "zero"):
        expected = output(model)
    assert torch.allclose(output(remove(model, "L0,L1,L2")), expected, atol=1e-5)


@pytest.mark.parametrize("family", ["albert", "bloom"])
def test_a_family_whose_heads_cannot_be_removed_says_so(family: str) -> None:
    with pytest.raises(ModelError, match=r"share their weights|no way was found"):
        remove(tiny(family), "L0.H1")


def test_heads_of_a_pruned_model_are_not_analysed() -> None:
    pruned = remove(tiny("bert"), "L0.H1")
    with pytest.raises(ModelError, match="is pruned"), pruned.watch():
        pass
    with pytest.raises(ModelError, match="is pruned"), disable(pruned, "L0.H1"):
        pass
    with pytest.raises(ModelError, match="is pruned"):
        remove(pruned, "L0.H2")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("gone", [GONE, "L1"])
def test_transformers_loads_the_folder(
    family: str, folded: bool, gone: str, tmp_path: Path
) -> None:
    model = tiny(family)
    pruned = remove(model, gone, means_of(model) if folded else None)
    save(pruned, tmp_path)
    names: dict[str, Any] = {}
    exec(loading_lines(pruned, str(tmp_path)), names)
    loaded = wrap(names["model"], names["tokenizer"])
    assert torch.equal(output(loaded), output(pruned))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype, tmp_path: Path) -> None:
    model = tiny("bert")
    model.network.bfloat16() if dtype is torch.bfloat16 else model.network.half()
    pruned = remove(model, GONE)
    with disable(model, GONE, "zero"):
        expected = output(model)
    assert pruned.network.dtype == dtype
    assert torch.allclose(output(pruned).float(), expected.float(), atol=0.05)
    save(pruned, tmp_path)
    again = load(tmp_path, dtype=str(dtype).removeprefix("torch."))
    assert torch.equal(output(again), output(pruned))


def test_a_folder_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    save(tiny("bert"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["headscope_kept"] = [[0], [1], [2]]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="was pruned by an earlier version"):
        load(tmp_path)


def test_a_bare_folder_has_no_classifier(tmp_path: Path) -> None:
    save(remove(tiny("bert"), GONE), tmp_path)
    with pytest.raises(ModelError, match="lacks 2 weights"):
        load(tmp_path, top=Top.CLASSIFIER)


def test_nothing_removed_is_an_intact_model() -> None:
    model = remove(tiny("bert"), [])
    with disable(model, "L0.H1"):
        pass
    assert "3 layers x 4 heads" in repr(model)
