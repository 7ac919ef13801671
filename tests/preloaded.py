"""What commands find done when they start (see `commands.py`): the heavy libraries imported."""

from __future__ import annotations

from importlib import import_module

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

for library in LIBRARIES:
    import_module(library)
