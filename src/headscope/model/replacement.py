"""What replaces the output of a head that is switched off."""

from __future__ import annotations

from enum import StrEnum

from headscope.errors import HeadscopeError


class Replacement(StrEnum):
    """What replaces the output of a head that is switched off."""

    UNIFORM = "uniform"  # its output under uniform attention (Kovaleva et al. 2019, section 4.6)
    ZERO = "zero"  # zeros (Michel et al. 2019)
    MEAN = "mean"  # its mean output over the data


def parse_replacement(name: str) -> Replacement:
    """The replacement of a name; an error that lists the names for any other.

    >>> parse_replacement("zero")
    <Replacement.ZERO: 'zero'>
    """
    if name not in list(Replacement):
        raise HeadscopeError(f"heads are switched off by {', '.join(Replacement)}, not {name!r}")
    return Replacement(name)
