"""Statistics: named tallies with a baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.evidence.interval import Floats
from headscope.evidence.unit import Unit

if TYPE_CHECKING:
    from headscope.evidence.tally import Mean, Tally


@dataclass(frozen=True)
class Null:
    """The null hypothesis of a one-sided test, where it is not the baseline.

    Attributes:
        tally: the expected sums.
        spread: (half of the buckets, layer, head, group) variance of the sums under the null
            hypothesis, which the jackknife underestimates if cases are few and all alike.
    """

    tally: Tally
    spread: Floats


@dataclass(frozen=True)
class Statistic:
    """A number per head (and per group), with the baseline of an uninformed head.

    Attributes:
        name: its name in the run folder.
        tally: (bucket, layer, head, group); (bucket, layer, 1, group) for one number per layer;
            (bucket, 1, 1, group) for one number per corpus or model.
        baseline: (bucket, layer or 1, head or 1, group), from the same examples; or None.
        groups: names of the tally's groups (offsets, roles); empty if there is only one.
        direction: None if it does not apply.
        about: its meaning, in a sentence for the report.
        headlines: groups whose best head is listed in a summary, with the text of that line (the
            group is the empty string if there are no groups).
        null: the null hypothesis of the test, if it is not the baseline.
        p: p-value of a test done elsewhere, for one number per model.
        per_layer: whether it is one number per layer.
        better: 1 if the best head is that with the largest value, -1 if with the smallest.
    """

    name: str
    tally: Tally
    baseline: Tally | None
    unit: Unit
    about: str
    groups: tuple[str, ...] = ()
    direction: str | None = None
    headlines: dict[str, str] = field(default_factory=dict)
    null: Null | None = None
    p: float | None = None
    per_layer: bool = False
    better: int = 1

    @classmethod
    def of(cls, name: str, mean: Mean, unit: Unit, about: str, **options: Any) -> Statistic:
        """A mean with its baseline as a statistic.

        Args:
            options: further attributes (`groups`, `direction`, `headlines`, ...).
        """
        return cls(name, mean.tally, mean.baseline, unit, about, **options)

    @property
    def per_model(self) -> bool:
        """Whether it is one number for the whole model or corpus."""
        return self.tally.sums.shape[1:3] == (1, 1) and self.baseline is None

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The axes of the tally that are pooled for the rows of heads, of layers, of the model."""
        if self.per_model:
            return ((1, 2),)
        return ((2,), (1, 2)) if self.per_layer else ((), (2,), (1, 2))

    def describe(self) -> dict[str, Any]:
        """What `run.json` records about the statistic."""
        return {
            "statistic": self.name,
            "direction": self.direction,
            "groups": list(self.groups),
            "unit": self.unit.name,
            "about": self.about,
            "headlines": self.headlines,
        }
