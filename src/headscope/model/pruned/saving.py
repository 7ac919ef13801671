"""Saving a model: each of its files appears in the folder only when it is complete."""

from __future__ import annotations

import shutil
from pathlib import Path

from headscope._util.atomic import PARTIAL_SUFFIX, default_file_mode
from headscope.model.loading import quiet_transformers
from headscope.model.model import Model


def save(model: Model, folder: Path) -> None:
    """Write weights (safetensors), configuration and tokenizer into an existing folder."""
    part = folder / f"model{PARTIAL_SUFFIX}"
    try:
        with quiet_transformers():
            model.whole.save_pretrained(part)
            model.tokenizer.save_pretrained(part)
        mode = default_file_mode(folder)
        for file in part.iterdir():
            file.chmod(mode)  # safetensors makes files that only their owner can read
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
