"""A model as an ONNX file, for whoever runs it without torch."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope._util.atomic import PART
from headscope.corpus import Example
from headscope.errors import ModelError
from headscope.model.loading import Model

NEEDED = ("onnx", "onnxscript", "onnxruntime")
OUTPUT = "output"
EQUAL = 1e-4
"""How far the file's outputs may be from the model's, relative to the largest."""


def can_export() -> bool:
    """Whether what an ONNX file needs is installed."""
    return all(find_spec(name) is not None for name in NEEDED)


def export(model: Model, path: Path) -> float:
    """Write a model as an ONNX file that takes texts of any number and length.

    The file's inputs have the names of the tokenizer's; its output is the model's first: logits,
    or the states of the last layer.

    Returns:
        How far its outputs, run by onnxruntime, are from the model's, relative to the largest.
    """
    if not can_export():
        raise ModelError(
            "an ONNX file needs onnx, onnxscript and onnxruntime: pip install 'headscope[onnx]'"
        )
    texts = [Example("1", text="a b c d e"), Example("2", text="a b")]
    inputs = _inputs(model, texts)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    part = path.with_name(path.name + PART)
    try:
        try:
            with hushed():
                torch.onnx.export(
                    _Called(model.whole, tuple(inputs)),
                    tuple(inputs.values()),
                    part,
                    input_names=list(inputs),
                    output_names=[OUTPUT],
                    dynamic_shapes=(tuple(free for _ in inputs),),
                    dynamo=True,
                    external_data=False,
                )
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            raise ModelError(f"torch cannot write it ({type(error).__name__})") from error
        far = difference(model, part)
        if far > EQUAL:
            raise ModelError(f"the ONNX file's outputs differ from the model's by {far:.1e}")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return far


def difference(model: Model, path: Path) -> float:
    """How far the outputs of a file are from the model's, on texts of other lengths than it was
    made with, relative to the largest.
    """
    texts = [Example(str(size), text="b a c " * size) for size in (5, 1, 3)]
    inputs = _inputs(model, texts)
    session = run_by_onnx(path)
    found = session.run(None, {name: one.cpu().numpy() for name, one in inputs.items()})[0]
    with torch.inference_mode():
        whole = model.whole(**inputs)[0]
    real = inputs["attention_mask"].bool()
    expected = of_real(whole, real).cpu().numpy()
    found = of_real(torch.from_numpy(found), real.cpu()).numpy()
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


def of_real(output: Tensor, real: Tensor) -> Tensor:
    """An output without what it has for padding, where it has something for each token."""
    return output[real] if output.shape[:2] == real.shape else output


def run_by_onnx(path: Path) -> Any:
    """An onnxruntime session of a file, on the processor."""
    import onnxruntime

    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def _inputs(model: Model, texts: list[Example]) -> dict[str, Tensor]:
    return model.batch(model.encode(texts)).inputs(model.network)


class _Called(nn.Module):
    """A network that is called by position."""

    def __init__(self, whole: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.whole, self.names = whole, names

    def forward(self, *values: Tensor) -> Tensor:
        """The first of the network's outputs."""
        found: Tensor = self.whole(**dict(zip(self.names, values, strict=True)))[0]
        return found


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Silence what the exporter tells its developers."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
