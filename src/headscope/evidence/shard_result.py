"""The result of a shard: tallies, examples, counts, and columns with a row per example."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.exemplars import Exemplar, Exemplars
from headscope.evidence.ranked_examples import RankedExamples

if TYPE_CHECKING:
    from headscope.evidence.tally import Tally


class ShardResult:
    """Tallies, examples, counts and columns by name; the results of two shards merge into one.

    A column has a row per example, in the order of the shards, for what cannot be summed, such
    as the predictions that a bootstrap needs.

    >>> total, other = ShardResult(), ShardResult()
    >>> total.counts["examples"], other.counts["examples"] = 2, 3
    >>> total.merge(other)
    >>> total.counts["examples"]
    5
    """

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.exemplars: dict[str, Exemplars] = {}
        self.ranked: dict[str, RankedExamples] = {}
        self.counts: Counter[str] = Counter()
        self.columns: dict[str, NDArray[np.float64]] = {}

    def merge(self, other: ShardResult) -> None:
        """Add the result of another shard to this one; its arrays may be reused."""
        for name, tally in other.tallies.items():
            if name in self.tallies:
                self.tallies[name].merge(tally)
            else:
                self.tallies[name] = tally
        for name, store in other.exemplars.items():
            self.exemplars.setdefault(name, Exemplars(store.size)).merge(store)
        for name, examples in other.ranked.items():
            self.ranked.setdefault(name, RankedExamples()).merge(examples)
        self.counts.update(other.counts)
        for name, column in other.columns.items():
            before = [self.columns[name]] if name in self.columns else []
            self.columns[name] = np.concatenate([*before, column])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole result as named arrays, for `numpy.savez`."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, tally in self.tallies.items():
            arrays[f"sums {name}"], arrays[f"counts {name}"] = tally.sums, tally.counts
        arrays |= {f"column {name}": column for name, column in self.columns.items()}
        stores: dict[str, Any] = {}
        for name, store in self.exemplars.items():
            kept = []
            for exemplar in store:
                keys = {key: f"array {len(arrays) + n}" for n, key in enumerate(exemplar.arrays)}
                arrays |= {keys[key]: array for key, array in exemplar.arrays.items()}
                kept.append([exemplar.rank, exemplar.id, exemplar.record, keys])
            stores[name] = {"size": store.size, "kept": kept}
        ranked: dict[str, Any] = {}
        for name, examples in self.ranked.items():
            own, ranked[name] = examples.arrays(f"ranked {name}")
            arrays |= own
        record = {"counts": dict(self.counts), "exemplars": stores, "ranked": ranked}
        return arrays | {"record": np.array(json.dumps(record))}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> ShardResult:
        """The result that was written as `arrays`."""
        from headscope.evidence.tally import Tally

        record = json.loads(str(arrays["record"]))
        result = cls()
        result.counts.update(record["counts"])
        for name, stored in record["exemplars"].items():
            store = result.exemplars[name] = Exemplars(stored["size"])
            for rank, example, text_record, keys in stored["kept"]:
                own_arrays = {key: arrays[name] for key, name in keys.items()}
                store.offer(Exemplar(rank, example, text_record, own_arrays))
        for name, about in record["ranked"].items():
            result.ranked[name] = RankedExamples.from_arrays(f"ranked {name}", arrays, about)
        for key, array in arrays.items():
            kind, _, name = key.partition(" ")
            if kind == "sums":
                result.tallies[name] = Tally.of(array, arrays[f"counts {name}"])
            elif kind == "column":
                result.columns[name] = array
        return result
