"""A pruned folder is used by the programs that people use, and by the lines of its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.model import Model, load, remove, save
from headscope.model.pruned.onnx import export_onnx
from headscope.model.pruned.sentence_files import pooling_mode, sentence_files
from headscope.model.pruned.usage import onnx_lines, pipeline_lines, sentence_lines
from tests.families import family_model

GONE = "L0.H1,L1"


def run(lines: str | None) -> Any:
    """The value of the last line."""
    assert lines is not None
    *before, last = lines.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(before), names)
    return eval(last, names)


@pytest.fixture(scope="module")
def pruned() -> Model:
    return remove(load("minilm"), GONE)


def mean_vectors(model: Model, texts: list[str]) -> torch.Tensor:
    inputs = model.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model.network(**inputs)[0]
    mask = inputs["attention_mask"][..., None]
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))


def test_sentence_transformers_makes_the_vectors(pruned: Model, tmp_path: Path) -> None:
    save(pruned, tmp_path)
    vectors = run(sentence_lines(pruned, str(tmp_path)))
    expected = mean_vectors(pruned, ["A text.", "Another."]).numpy()
    assert np.allclose(vectors, expected, atol=1e-5)
    assert not np.allclose(
        vectors, mean_vectors(load("minilm"), ["A text.", "Another."]), atol=1e-3
    )


def test_a_pipeline(pruned: Model, tmp_path: Path) -> None:
    save(pruned, tmp_path)
    pipeline = run(pipeline_lines(pruned, str(tmp_path)))
    states = pipeline("A text.", return_tensors=True)
    inputs = pruned.tokenizer("A text.", return_tensors="pt")
    with torch.inference_mode():
        assert torch.allclose(states, pruned.network(**inputs)[0], atol=1e-5)


def test_the_onnx_file_pools_as_the_original(pruned: Model, tmp_path: Path) -> None:
    save(pruned, tmp_path)
    export_onnx(pruned, tmp_path / "model.onnx")
    names: dict[str, Any] = {}
    exec(onnx_lines(pruned, str(tmp_path)), names)
    vectors = torch.nn.functional.normalize(torch.from_numpy(names["vectors"]).float())
    assert torch.allclose(vectors, mean_vectors(pruned, ["A text.", "Another."]), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({}, None),
    ],
)
def test_the_pooling_that_a_file_states(settings: dict[str, Any], mode: str | None) -> None:
    assert pooling_mode({"1_Pooling/config.json": json.dumps(settings).encode()}) == mode


@pytest.mark.parametrize(
    "modules",
    [
        "no json",
        "{}",
        '[{"path": "", "type": "custom.Module"}]',
        '[{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}]',
        '[{"path": "", "type": "sentence_transformers.models.Transformer"},'
        ' {"path": "../../elsewhere", "type": "sentence_transformers.models.Pooling"}]',
    ],
)
def test_other_files_are_not_copied(modules: str, tmp_path: Path) -> None:
    model = load("minilm")
    (tmp_path / "modules.json").write_text(modules)
    model.source = str(tmp_path)
    assert sentence_files(model) == {}


def test_a_language_model_is_no_sentence_model(pruned: Model) -> None:
    model = family_model("llama")
    model.source, model.with_top = pruned.source, model.network
    assert sentence_files(model) == {}
