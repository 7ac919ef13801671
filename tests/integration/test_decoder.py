"""Decoders: the next token as a task, heads that are removed for good, roles of their heads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.analyses.repetition import Repetition
from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.experiments.ablation import effects
from headscope.model import Model, disable, wrap
from headscope.tasks.causal_lm import CausalLM
from headscope.testing import tiny_model, tiny_tokenizer
from tests.families import family_network


@pytest.fixture(scope="module")
def decoder() -> Model:
    """A tiny random Llama with its language model."""
    torch.manual_seed(0)
    whole = AutoModelForCausalLM.from_config(family_network("llama").config)
    return wrap(whole, tiny_tokenizer(decoder=True), "decoder")


def test_the_loss_is_that_of_the_model_itself(decoder: Model) -> None:
    task = hs.task("causal-lm:tour", limit=8)
    assert isinstance(task, CausalLM)
    cases = task.cases(decoder, task.examples, None)
    found = task.predict(decoder, cases, Budget())
    total = 0.0
    for case, loss in zip(cases, found, strict=True):
        ids = torch.tensor(case.texts[0].ids)[None]
        with torch.inference_mode():
            mean = decoder.whole(input_ids=ids, labels=ids).loss
        assert loss / case.gold == pytest.approx(float(mean), rel=1e-4)
        assert case.gold == ids.shape[1] - 1
        total += loss
    gold = np.array([case.gold for case in cases])
    loss_metric, perplexity = task.metrics
    assert loss_metric(found, gold) == pytest.approx(total / gold.sum())
    assert perplexity(found, gold) == pytest.approx(np.exp(total / gold.sum()))


def test_heads_are_switched_off_on_it(decoder: Model) -> None:
    task = hs.task("causal-lm:tour", limit=8)
    results = hs.ablate(decoder, task, progress=NoProgress())
    cases = task.cases(decoder, task.examples, None)
    gold = np.array([case.gold for case in cases])
    rows = {row.name: row for row in effects(results, "head")}
    assert len(rows) == 8
    with disable(decoder, "L1.H2"):
        off = task.predict(decoder, cases, Budget())
    assert rows["L1.H2"].value == pytest.approx(task.metrics[0](off, gold), abs=1e-4)


def test_pruning_ends_in_a_folder_that_loads(decoder: Model, tmp_path: Path) -> None:
    task, home = hs.task("causal-lm:tour", limit=60), tmp_path / "smaller"
    results = hs.prune(
        decoder, task, keep=0.5, beside=(), onnx=False, out=home, progress=NoProgress()
    )
    pruned = results.record.summary["pruned"]
    assert len(pruned["removed"]) == 4
    assert pruned["difference"] < 1e-5
    again = hs.load(home, top=task.top)
    assert "4 of 8 heads" in repr(again)
    cases = task.cases(decoder, task.examples, None)
    with disable(decoder, pruned["removed"], "zero"):
        expected = task.predict(decoder, cases, Budget())
    np.testing.assert_allclose(task.predict(again, cases, Budget()), expected, rtol=1e-4)
    printed = re.findall(r"```python\n(.*?)```", (home / "README.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(printed[0].replace("FOLDER", str(home)), names)  # as everybody loads models
    ids = torch.tensor(cases[0].texts[0].ids)[None]
    with torch.inference_mode():
        torch.testing.assert_close(names["model"](ids).logits, again.whole(ids).logits)
        bare = AutoModel.from_pretrained(home, trust_remote_code=True)
        torch.testing.assert_close(bare(ids)[0], again.network(ids)[0])


def test_an_encoder_is_told_to_take_another_task() -> None:
    task = hs.task("causal-lm:tour", limit=8)
    with pytest.raises(HeadscopeError, match="masked-lm:DATA is for models like it"):
        task.cases(tiny_model("bert"), task.examples, None)


def test_every_place_of_repeated_tokens_makes_a_role() -> None:
    roles = {rule.name: rule.groups for rule in Repetition.roles}
    assert roles == {
        "induction": ("induction",),
        "duplicate-token": ("duplicate",),
        "previous-token": ("previous",),
        "attention sink": ("first",),
    }
