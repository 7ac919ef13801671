"""What some shards have brought in: tallies, exemplars, plain counts, numbers per example."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.exemplars import Exemplar, Exemplars
from headscope.evidence.tally import Tally


class Harvest:
    """Tallies and exemplars by name, counts, columns; harvests of two shards merge into one.

    A column has a row per example, in the order of the shards: for what no sum can hold, such as
    the predictions that a bootstrap needs.

    >>> one, two = Harvest(), Harvest()
    >>> one.counts["examples"], two.counts["examples"] = 2, 3
    >>> one.merge(two)
    >>> one.counts["examples"]
    5
    """

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.exemplars: dict[str, Exemplars] = {}
        self.counts: Counter[str] = Counter()
        self.columns: dict[str, NDArray[np.float64]] = {}

    def merge(self, other: Harvest) -> None:
        """Add another shard's harvest to this one; it may be used up."""
        for name, tally in other.tallies.items():
            if name in self.tallies:
                self.tallies[name].merge(tally)
            else:
                self.tallies[name] = tally
        for name, store in other.exemplars.items():
            self.exemplars.setdefault(name, Exemplars(store.size)).merge(store)
        self.counts.update(other.counts)
        for name, column in other.columns.items():
            before = [self.columns[name]] if name in self.columns else []
            self.columns[name] = np.concatenate([*before, column])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as named arrays, for `numpy.savez`."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, tally in self.tallies.items():
            arrays[f"sums {name}"], arrays[f"counts {name}"] = tally.sums, tally.counts
        arrays |= {f"column {name}": column for name, column in self.columns.items()}
        stores: dict[str, Any] = {}
        for name, store in self.exemplars.items():
            kept = []
            for one in store:
                places = {key: f"array {len(arrays) + n}" for n, key in enumerate(one.arrays)}
                arrays |= {places[key]: array for key, array in one.arrays.items()}
                kept.append([one.rank, one.id, one.record, places])
            stores[name] = {"size": store.size, "kept": kept}
        record = {"counts": dict(self.counts), "exemplars": stores}
        return arrays | {"record": np.array(json.dumps(record))}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Harvest:
        """The harvest that `arrays` wrote down."""
        record = json.loads(str(arrays["record"]))
        harvest = cls()
        harvest.counts.update(record["counts"])
        for name, stored in record["exemplars"].items():
            store = harvest.exemplars[name] = Exemplars(stored["size"])
            for rank, example, known, places in stored["kept"]:
                found = {key: arrays[place] for key, place in places.items()}
                store.offer(Exemplar(rank, example, known, found))
        for key, sums in arrays.items():
            kind, _, name = key.partition(" ")
            if kind == "sums":
                harvest.tallies[name] = Tally.of(sums, arrays[f"counts {name}"])
            elif kind == "column":
                harvest.columns[name] = sums
        return harvest
