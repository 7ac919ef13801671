"""The page's components in a notebook: an anywidget, which asks nothing of any network."""

from __future__ import annotations

from typing import Any

from headscope.errors import HeadscopeError
from headscope.report.page import asset
from headscope.report.payload import Payload


def widget(payload: Payload) -> Any:
    """A widget that shows heads on a board, and one head large (needs the extra `notebook`)."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        raise HeadscopeError(
            f"{error.name} is not installed; pip install 'headscope[notebook]'"
        ) from None

    class Heads(anywidget.AnyWidget):
        _esm = asset("widget.js")
        _css = asset("widget.css")
        views = traitlets.Unicode().tag(sync=True)
        maps = traitlets.Unicode().tag(sync=True)
        examples = traitlets.Unicode().tag(sync=True)

    packed = payload.packed()
    return Heads(**{name: packed[name] for name in ("views", "maps", "examples")})
