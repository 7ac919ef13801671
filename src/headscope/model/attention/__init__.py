"""Attention as analyses see it: requests for quantities of rows, and their answers."""

from headscope.model.attention.answers import answer
from headscope.model.attention.blocks import Block
from headscope.model.attention.kinds import ANY, SELF, Kind, Site
from headscope.model.attention.places import At, Norms, Rows, WholeMaps
from headscope.model.attention.request import Request
from headscope.model.attention.requests import (
    Band,
    Entropy,
    Largest,
    LargestFrom,
    Mass,
    Received,
)
from headscope.model.attention.seen import Best, Seen
from headscope.model.attention.view import View, Visible, in_band
from headscope.model.attention.watchers import MapWatcher, OfKind, Watcher, of_kind

__all__ = [
    "ANY",
    "SELF",
    "At",
    "Band",
    "Best",
    "Block",
    "Entropy",
    "Kind",
    "Largest",
    "LargestFrom",
    "MapWatcher",
    "Mass",
    "Norms",
    "OfKind",
    "Received",
    "Request",
    "Rows",
    "Seen",
    "Site",
    "View",
    "Visible",
    "Watcher",
    "WholeMaps",
    "answer",
    "in_band",
    "of_kind",
]
