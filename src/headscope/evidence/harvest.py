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
    """Tallies by name, exemplars, counts; harvests of two shards merge into one.

    >>> one, two = Harvest(), Harvest()
    >>> one.counts["examples"], two.counts["examples"] = 2, 3
    >>> one.merge(two)
    >>> one.counts["examples"]
    5
    """

    def __init__(self, exemplars: int = 0) -> None:
        self.tallies: dict[str, Tally] = {}
        self.exemplars = Exemplars(exemplars)
        self.counts: Counter[str] = Counter()

    def merge(self, other: Harvest) -> None:
        """Add another shard's harvest to this one; it may be used up."""
        for name, tally in other.tallies.items():
            if name in self.tallies:
                self.tallies[name].merge(tally)
            else:
                self.tallies[name] = tally
        self.exemplars.size = max(self.exemplars.size, other.exemplars.size)
        self.exemplars.merge(other.exemplars)
        self.counts.update(other.counts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as named arrays, for `numpy.savez`."""
        record = {
            "size": self.exemplars.size,
            "counts": dict(self.counts),
            "exemplars": [[one.rank, one.id, one.tokens] for one in self.exemplars],
        }
        arrays: dict[str, NDArray[Any]] = {"record": np.array(json.dumps(record))}
        for name, tally in self.tallies.items():
            arrays[f"sums {name}"], arrays[f"counts {name}"] = tally.sums, tally.counts
        for place, exemplar in enumerate(self.exemplars):
            arrays[f"maps {place}"] = exemplar.maps
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Harvest:
        """The harvest that `arrays` wrote down."""
        record = json.loads(str(arrays["record"]))
        harvest = cls(record["size"])
        harvest.counts.update(record["counts"])
        for place, (rank, name, tokens) in enumerate(record["exemplars"]):
            harvest.exemplars.offer(Exemplar(rank, name, tuple(tokens), arrays[f"maps {place}"]))
        for key, sums in arrays.items():
            kind, _, name = key.partition(" ")
            if kind == "sums":
                harvest.tallies[name] = Tally.of(sums, arrays[f"counts {name}"])
        return harvest
