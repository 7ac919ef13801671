"""Who watches a model: asks for quantities of its attention, and takes the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from headscope.model.attention.kinds import Kind
from headscope.model.attention.places import Rows
from headscope.model.attention.request import Request
from headscope.model.attention.seen import Seen
from headscope.model.attention.view import View

if TYPE_CHECKING:
    from torch import Tensor


class Watcher(Protocol):
    """Who asks for quantities of attention and takes the answers; every analysis is one."""

    def ask(self, view: View) -> dict[str, Request]:
        """The requests for every site with this view, by name; {}: nothing."""

    def observe(self, seen: Seen) -> None:
        """Take what was seen at one site."""


class OfKind:
    """A watcher of one kind of attention in a model that has several."""

    def __init__(self, watcher: Watcher, kind: Kind) -> None:
        self.watcher, self.kind = watcher, kind

    def ask(self, view: View) -> dict[str, Request]:
        """What the watcher asks of its kind; nothing of others."""
        return self.watcher.ask(view) if view.kind is self.kind else {}

    def observe(self, seen: Seen) -> None:
        """Hand on what was seen."""
        self.watcher.observe(seen)


def of_kind(watcher: Watcher, kind: Kind | None) -> Watcher:
    """A watcher of one kind of attention; None: of all that there is."""
    return watcher if kind is None else OfKind(watcher, kind)


class MapWatcher:
    """Calls a function with the whole maps of every site: (example, head, query, key).

    Args:
        keep: takes what was seen and the maps, which the next layer overwrites.
        words: for maps between words "mean" or "first"; None: between pieces.
    """

    def __init__(self, keep: Callable[[Seen, Tensor], None], words: str | None = None) -> None:
        self.keep, self.words = keep, words

    def ask(self, view: View) -> dict[str, Request]:
        """All maps."""
        return {"maps": Rows.whole(view, words=self.words)}

    def observe(self, seen: Seen) -> None:
        """Hand the maps on."""
        self.keep(seen, seen["maps"])
