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
vl_convert.javascript_bundle = lambda: _bundle
