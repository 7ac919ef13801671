"""Saving a model: each of its files appears in the folder only when it is complete."""

from __future__ import annotations

import shutil
from pathlib import Path

from headscope._util.atomic import PARTIAL_SUFFIX, default_file_mode
from headscope.model.loading import quiet_transformers
from headscope.model.model import Model
from headscope.model.pruned.kept import remaining_heads
from headscope.model.pruned.modelling_file import NAME, modelling_file
from headscope.model.pruned.sentence_files import sentence_files


def save(model: Model, folder: Path) -> None:
    """Write a model into an existing folder, so that transformers loads it.

    Weights (safetensors), configuration, tokenizer; for a pruned model the file of Python that
    makes its modules; where the original had them, the files that sentence-transformers reads.
    """
    part = folder / f"model{PARTIAL_SUFFIX}"
    files = sentence_files(model)
    if remaining_heads(model.network.config) is not None:
        text, model.whole.config.auto_map = modelling_file(model)
        files[f"{NAME}.py"] = text.encode()
    try:
        with quiet_transformers():
            model.whole.save_pretrained(part)
            model.tokenizer.save_pretrained(part)
        for name, content in files.items():
            (part / name).parent.mkdir(exist_ok=True)
            (part / name).write_bytes(content)
        mode = default_file_mode(folder)
        for file in [path for path in part.rglob("*") if path.is_file()]:
            file.chmod(mode)  # safetensors makes files that only their owner can read
            place = folder / file.relative_to(part)
            place.parent.mkdir(exist_ok=True)
            file.replace(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
