"""Saving a model: its files appear in a folder one by one, each of them whole."""

from __future__ import annotations

import shutil
from pathlib import Path

from headscope._util.atomic import PART, usual_mode
from headscope.model.loading import Model, hushed


def save(model: Model, folder: Path) -> None:
    """Write weights (safetensors), configuration and tokenizer into a folder that exists."""
    part = folder / f"model{PART}"
    try:
        with hushed():
            model.whole.save_pretrained(part)
            model.tokenizer.save_pretrained(part)
        for file in part.iterdir():
            file.chmod(usual_mode())  # safetensors lets nobody else read
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
