"""Exporting a model to ONNX, to run it without torch."""

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

from headscope._util.atomic import PARTIAL_SUFFIX
from headscope.corpus import Example
from headscope.errors import ModelError
from headscope.model.model import Model
from headscope.model.modes import evaluating

REQUIRED_PACKAGES = ("onnx", "onnxscript", "onnxruntime")
OUTPUT = "output"
TOLERANCE = 1e-4
"""Largest accepted difference between the outputs of file and model, relative to the largest."""


def can_export() -> bool:
    """Whether the packages that the export needs are installed."""
    return all(find_spec(name) is not None for name in REQUIRED_PACKAGES)


def export_onnx(model: Model, path: Path) -> float:
    """Export a model to an ONNX file that accepts any number of texts of any length.

    The inputs are named as those of the tokenizer. The output is the first of the model: logits,
    or the hidden states of the last layer.

    Returns:
        The difference between the outputs of the file, run by onnxruntime, and those of the model
        (see `output_difference`).
    """
    if not can_export():
        raise ModelError(
            "an ONNX file needs onnx, onnxscript and onnxruntime: pip install 'headscope[onnx]'"
        )
    if model.translates:
        raise ModelError("a model with an encoder and a decoder does not fit into one ONNX file")
    part = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        with evaluating(model.whole):
            _write_onnx(model, part)
        difference = output_difference(model, part)
        if difference > TOLERANCE:
            raise ModelError(f"the ONNX file's outputs differ from the model's by {difference:.1e}")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return difference


def _write_onnx(model: Model, path: Path) -> None:
    inputs = _inputs(model, [Example("1", text="a b c d e"), Example("2", text="a b")])
    any_size = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with quiet_exporter():
            torch.onnx.export(
                _PositionalCall(model.whole, tuple(inputs)),
                tuple(inputs.values()),
                path,
                input_names=list(inputs),
                output_names=[OUTPUT],
                dynamic_shapes=(tuple(any_size for _ in inputs),),
                dynamo=True,
                external_data=False,
            )
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        raise ModelError(f"torch cannot export it ({type(error).__name__})") from error


def output_difference(model: Model, path: Path) -> float:
    """The largest difference between the outputs of an ONNX file and those of its model.

    It is relative to the largest output (at least 1), and measured on texts of other lengths than
    those of the export.
    """
    texts = [Example(str(size), text="b a c " * size) for size in (5, 1, 3)]
    inputs = _inputs(model, texts)
    arrays = {name: tensor.cpu().numpy() for name, tensor in inputs.items()}
    from_file = torch.from_numpy(onnx_session(path).run(None, arrays)[0])
    with torch.inference_mode(), evaluating(model.whole):
        from_model = model.whole(**inputs)[0]
    real = inputs["attention_mask"].bool()
    expected = real_tokens(from_model, real).cpu().numpy()
    exported = real_tokens(from_file, real.cpu()).numpy()
    return float(np.abs(exported - expected).max() / max(1.0, np.abs(expected).max()))


def real_tokens(output: Tensor, real: Tensor) -> Tensor:
    """An output without its rows for padding; unchanged if it has no row for each token.

    Args:
        output: (example, token, ...) or (example, ...)
        real: (example, token) False on padding.

    >>> real_tokens(torch.ones(1, 3, 8), torch.tensor([[True, True, False]])).shape
    torch.Size([2, 8])
    """
    return output[real] if output.shape[:2] == real.shape else output


def onnx_session(path: Path) -> Any:
    """An onnxruntime session that runs a file on the CPU."""
    import onnxruntime

    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def _inputs(model: Model, texts: list[Example]) -> dict[str, Tensor]:
    return model.batch(model.encode(texts)).inputs(model.network)


class _PositionalCall(nn.Module):
    """Calls a network with positional instead of keyword arguments."""

    def __init__(self, whole: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.whole, self.names = whole, names

    def forward(self, *values: Tensor) -> Tensor:
        """The first output of the network."""
        output: Tensor = self.whole(**dict(zip(self.names, values, strict=True)))[0]
        return output


@contextlib.contextmanager
def quiet_exporter() -> Iterator[None]:
    """Suppress the warnings and messages of torch's exporter."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            # what the exporter warns of, its own deprecations and tracing, no user can change, and
            # whether the exported file is right is tested by its output
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
