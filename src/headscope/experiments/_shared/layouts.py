"""How tallies of a model are laid out."""

from __future__ import annotations

from headscope.corpus import BUCKETS
from headscope.evidence import Layout
from headscope.model import Model
from headscope.model.attention import Kind


def layout_of(model: Model, kind: Kind | None = None) -> Layout:
    """The layout of all attentions of a model, or of those of one kind in an encoder-decoder."""
    if kind is None or not model.attentions:
        return Layout(BUCKETS, model.layers, model.heads, model.uneven, model.attentions)
    heads = tuple(site.heads for site in model.stacks[kind])
    uneven = heads if len(set(heads)) > 1 else ()
    return Layout(BUCKETS, len(heads), max(heads), uneven, (str(kind),) * len(heads))
