"""Explore: a live page on this computer, on which heads are looked at and switched off."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import HeadscopeError

if TYPE_CHECKING:
    from headscope.model import Model, Top
    from headscope.runs import RunResults

LOOPBACK = "127.0.0.1"


def serve(
    models: Sequence[tuple[Model, Top]],
    runs: Sequence[RunResults] = (),
    *,
    port: int = 0,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the live page until it is interrupted.

    Args:
        models: with what each has on top.
        runs: what is known of their heads.
        port: 0: any that is free.
        ready: told the address of the page once it can be opened.
    """
    try:
        import uvicorn

        from headscope.explorer.page import explorer_page
        from headscope.explorer.server import Explored, make_app
    except ModuleNotFoundError as error:
        raise HeadscopeError(
            f"{error.name} is not installed; pip install 'headscope[explore]'"
        ) from None
    named = {model.name: Explored(model, top) for model, top in models}
    if len(named) < len(models):
        raise HeadscopeError("two models have the same name; rename the folder of one")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((LOOPBACK, port))
        except OSError as error:
            raise HeadscopeError(f"port {port} cannot be used: {error.strerror}") from None
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(16)
        page = explorer_page([{"name": one.name, "top": top} for one, top in models], list(runs))
        app = make_app(named, page, token, port)
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        ready(f"http://{LOOPBACK}:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[listening])


def open_model(
    name: str | Path, device: str = "cpu", languages: tuple[str, str] | None = None
) -> tuple[Model, Top]:
    """Load a model with what its checkpoint has on top."""
    from headscope.model import load, top_of_checkpoint

    top = top_of_checkpoint(name)
    return load(name, top=top, device=device, languages=languages), top
