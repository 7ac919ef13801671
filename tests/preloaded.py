"""What commands find done when they start (see `commands.py`): the heavy libraries imported, and
the scripts of Vega made into one, which takes seconds and is the same in every process.

A process of its own makes it, since the engine that does starts threads, which a fork loses.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import vl_convert

LIBRARIES = (
    "altair",
    "numba",
    "pyarrow.parquet",
    "scipy.cluster.hierarchy",
    "scipy.stats",
    "sklearn.manifold",
    "torch",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "typer",
)
BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"

for library in LIBRARIES:
    import_module(library)

_made = subprocess.run([sys.executable, "-c", BUNDLE], check=True, capture_output=True).stdout
_bundle = _made.decode()
_bundling = vl_convert.javascript_bundle


def bundled(snippet: str | None = None, vl_version: str | None = None) -> str:
    """What `javascript_bundle` returns, which is made already unless more is asked for."""
    if snippet is None and vl_version is None:
        return _bundle
    return _bundling(snippet or "", vl_version)


vl_convert.javascript_bundle = bundled
