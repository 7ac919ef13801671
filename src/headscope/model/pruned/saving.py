"""Saving a model: each of its files appears in the folder only when it is complete."""

from __future__ import annotations

import shutil
from pathlib import Path

from headscope._util.atomic import PARTIAL_SUFFIX, default_file_mode
from headscope.model.loading import quiet_transformers
from headscope.model.model import Model
from headscope.model.pruned.modelling_file import NAME, modelling_file
from headscope.model.pruned.shrink import SHAPES_KEY


def save(model: Model, folder: Path) -> None:
    """Write weights (safetensors), configuration and tokenizer into an existing folder."""
    part = folder / f"model{PARTIAL_SUFFIX}"
    try:
        with quiet_transformers():
            if hasattr(model.network.config, SHAPES_KEY):
                text, auto_map = modelling_file(model)
                model.whole.config.auto_map = auto_map
                model.whole.save_pretrained(part)
                (part / f"{NAME}.py").write_text(text, encoding="utf-8")
            else:
                model.whole.save_pretrained(part)
            model.tokenizer.save_pretrained(part)
        mode = default_file_mode(folder)
        for file in part.iterdir():
            file.chmod(mode)  # safetensors makes files that only their owner can read
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
