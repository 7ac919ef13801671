"""The files by which sentence-transformers makes sentence vectors with a model: its pooling."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from transformers.utils.hub import cached_file

from headscope.model.model import Model

MODULES = "modules.json"
SETTINGS = ("sentence_bert_config.json", "config_sentence_transformers.json")
MODULE_FILES = ("config.json", "model.safetensors")
OWN_TYPES = "sentence_transformers."
"""How the types of modules begin that the library itself defines; others would run code."""


def sentence_files(model: Model) -> dict[str, bytes]:
    """The files beside the weights that sentence-transformers reads, by name.

    {} if the model was not made for it, or has a classifier or language model on top.

    >>> from headscope.model import load
    >>> sorted(sentence_files(load("minilm")))[:2]
    ['1_Pooling/config.json', 'config_sentence_transformers.json']
    """
    source = model.source
    if source is None or model.with_top is not None:
        return {}
    listed = _read(source, MODULES)
    if listed is None or not _is_supported(modules := _parsed(listed)):
        return {}
    folders = [module["path"] for module in modules if module["path"]]
    names = [*SETTINGS, *(f"{folder}/{file}" for folder in folders for file in MODULE_FILES)]
    contents = {name: _read(source, name) for name in names}
    return {MODULES: listed} | {name: text for name, text in contents.items() if text is not None}


def pooling_mode(files: dict[str, bytes]) -> str | None:
    """How the vectors of tokens become one: "mean", "cls", another name, or None if it is not said.

    >>> from headscope.model import load
    >>> pooling_mode(sentence_files(load("minilm")))
    'mean'
    """
    for name, content in files.items():
        if name.endswith("/config.json") and isinstance(settings := _parsed(content), dict):
            if isinstance(mode := settings.get("pooling_mode"), str):
                return mode
            for key, used in settings.items():  # as earlier versions wrote it
                if str(key).startswith("pooling_mode_") and used is True:
                    return (
                        str(key).removeprefix("pooling_mode_").removesuffix("_tokens").split("_")[0]
                    )
    return None


def _is_supported(modules: Any) -> bool:
    """Whether the first module is the network itself, and all are the library's own."""
    if not isinstance(modules, list) or not all(isinstance(each, dict) for each in modules):
        return False
    paths = [module.get("path") for module in modules]
    own = all(str(module.get("type")).startswith(OWN_TYPES) for module in modules)
    return own and paths[:1] == [""] and all(_is_inside(path) for path in paths)


def _is_inside(path: Any) -> bool:
    """Whether a path leads to nowhere outside its folder."""
    return isinstance(path, str) and len(PurePosixPath(path).parts) <= 1 and path not in ("..", "/")


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _read(source: str, name: str) -> bytes | None:
    """A file of a folder or of the hub; None if it is not there."""
    path = cached_file(
        source,
        name,
        _raise_exceptions_for_gated_repo=False,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    return None if path is None else Path(path).read_bytes()
