"""What a pass over some shards has brought in: tallies, exemplars and plain counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.exemplars import Exemplar, Exemplars
from headscope.evidence.tally import Tally


class Harvest:
    """Tallies and exemplars by name, counts; harvests of two shards merge into one.

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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as named arrays, for `numpy.savez`."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, tally in self.tallies.items():
            arrays[f"sums {name}"], arrays[f"counts {name}"] = tally.sums, tally.counts
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
        return harvest
