"""Maps to look at: the attention of every head on a few real texts, chosen by hash."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Pieces
from headscope.corpus.display import MAX_TOKENS, NUM_MAPS, display_rank, select_for_maps
from headscope.evidence import Exemplar, Exemplars
from headscope.model.attention import Request, Rows, Seen, View

MAPS = "maps"
"""The name of the store of maps among all exemplars."""


class Maps:
    """Collects the maps of the texts of a shard that rank lowest: those that are looked at."""

    def __init__(self, shard: list[Pieces], kept: int = NUM_MAPS) -> None:
        self.store = Exemplars(kept)
        self._chosen = {id(pieces): pieces for pieces in select_for_maps(shard, kept)}
        self._rows: dict[int, Pieces] = {}
        self._maps: dict[int, list[NDArray[np.uint8]]] = {key: [] for key in self._chosen}

    def ask(self, view: View) -> dict[str, Request]:
        """The whole maps of the chosen texts."""
        places = self._places(view)
        return {"maps": Rows.whole(view, places, size=MAX_TOKENS)} if places else {}

    def _places(self, view: View) -> list[int]:
        pieces = enumerate(view.keys.pieces)
        return [place for place, text in pieces if id(text) in self._chosen]

    def observe(self, seen: Seen) -> None:
        """Keep the maps of one layer, a byte for each weight."""
        levels = seen["maps"].mul(255).round().to(torch.uint8).cpu().numpy()
        view = seen.view
        for place, maps in zip(self._places(view), levels, strict=True):
            rows, keys = view.queries.pieces[place], view.keys.pieces[place]
            self._rows[id(keys)] = rows
            size = [min(len(pieces), MAX_TOKENS) for pieces in (rows, keys)]
            self._maps[id(keys)].append(maps[:, : size[0], : size[1]])

    def finish(self, tokens: Callable[[Pieces], list[str]]) -> Exemplars:
        """The store; `tokens` gives the pieces of a text as a reader would write them."""
        for key, pieces in self._chosen.items():
            if not self._maps[key]:
                continue
            maps = np.concatenate(self._maps[key])  # (head of all layers, query, key)
            record = {"tokens": tokens(pieces)[:MAX_TOKENS]}
            if self._rows[key] is not pieces:
                record["queries"] = tokens(self._rows[key])[:MAX_TOKENS]
            self.store.offer(
                Exemplar(display_rank(pieces), pieces.example.id, record, {"maps": maps})
            )
        return self.store
