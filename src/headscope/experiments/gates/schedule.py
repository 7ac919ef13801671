"""How gates are trained."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.errors import HeadscopeError


@dataclass(frozen=True)
class Schedule:
    """How gates are trained.

    Attributes:
        penalties: the cost of an open gate, one value after the other.
        steps: training batches at each penalty.
        rate: learning rate of the gates.
        encoder_rate: learning rate of the encoder's weights; 0: they are frozen.
        temperature, stretch: of the hard-concrete distribution, as in Voita et al.
        start: initial value of the gates' parameters; they begin open.
    """

    penalties: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    steps: int = 60
    rate: float = 0.1
    encoder_rate: float = 0.0
    temperature: float = 0.33
    stretch: tuple[float, float] = (-0.1, 1.1)
    start: float = 2.0

    def __post_init__(self) -> None:
        penalties = self.penalties
        if not penalties or penalties[0] < 0 or list(penalties) != sorted(set(penalties)):
            raise HeadscopeError("penalties grow from step to step, from 0 or more")
