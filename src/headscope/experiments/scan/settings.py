"""Settings of a scan: how corpora are read and what is analysed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headscope.analyses import Analysis, resolve_options
from headscope.corpus import Budget, Conventions
from headscope.errors import HeadscopeError

SHARD = 1024
"""Examples in a shard by default: bounds memory, and what a kill costs."""
ATTENTION, BY_NORM = "attention", "norm"
WEIGHTS = (ATTENTION, BY_NORM)
"""What is analysed: attention, or attention times the norm of what is looked at."""


@dataclass(frozen=True)
class Settings:
    """How a scan is done; part of what identifies a run.

    Attributes:
        max_length: cut texts to this many pieces; None: the model's limit, and a longer text is
            an error, because cutting must be asked for.
        frequencies: source of word frequencies, `corpus` or `wordfreq:LANGUAGE`.
        random_weights: add the same architecture untrained, drawn with `seed`.
        untrained: networks with random weights that read a sample of each corpus, to know what
            heads that know nothing do; 0: heads are tested against their baselines themselves.
        pieces: attention from a split word: the `mean` of its pieces, or the `first`.
        min_count: leave out relations with fewer instances.
        weights: what is analysed, `attention` or `norm` (see `WEIGHTS`).
        budget: how large a batch may be.
        shard: examples that are read, batched by length and merged at a time.
        options: of analyses, by name (see `scan`).

    >>> Settings(min_count=30).conventions.min_count
    30
    """

    max_length: int | None = None
    frequencies: str = "corpus"
    random_weights: bool = False
    untrained: int = 2
    seed: int = 0
    pieces: str = "mean"
    min_count: int = 100
    weights: str = ATTENTION
    budget: Budget = field(default_factory=Budget)
    shard: int = field(default_factory=lambda: SHARD)
    options: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise HeadscopeError(f"--weights is {' or '.join(WEIGHTS)}, not {self.weights!r}")
        if self.untrained < 0:
            raise HeadscopeError(f"there cannot be {self.untrained} untrained networks")
        object.__setattr__(self, "options", resolve_options(self.options))

    @property
    def norm_weighted(self) -> bool:
        """Whether weights are multiplied by the norms of value vectors."""
        return self.weights == BY_NORM

    @property
    def conventions(self) -> Conventions:
        """What several analyses share."""
        return Conventions(self.pieces, self.min_count)

    def with_options(self, options: Mapping[str, object]) -> Settings:
        """The same with further options of analyses."""
        return replace(self, options={**self.options, **options})

    def options_of(self, kind: type[Analysis]) -> Any:
        """The options of an analysis."""
        return self.options.get(kind.name) or kind.options_type()

    def describe(self, kinds: list[type[Analysis]]) -> dict[str, Any]:
        """For the study: all settings, and the options of these analyses."""
        own = {kind.name: asdict(self.options_of(kind)) for kind in kinds}
        options = {name: values for name, values in own.items() if values}
        plain = asdict(replace(self, options={}))
        return plain | {"options": options}
