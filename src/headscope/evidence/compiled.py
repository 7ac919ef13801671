"""The sums of `divergence.py`, compiled by numba (the extra `fast`).

The logarithm is split into exponent and mantissa, and that of the mantissa is a polynomial with
the precision of float32: simple steps that the compiler vectorises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
operation: Callable[[Any], Any] = intrinsic  # numba does not declare its type
BITS = ir.IntType(32)
LOWEST = 0x3F3504F3  # bits of sqrt(1/2): mantissas lie between it and sqrt(2)
BLOCK = 1024
"""Elements of a row that are summed in float32 before they are added in float64."""


@operation
def _exponent(_: Any, _number: Any) -> Any:
    """The exponent of a float32, as a float32."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        shifted = builder.sub(builder.bitcast(arguments[0], BITS), BITS(LOWEST))
        return builder.sitofp(builder.ashr(shifted, BITS(23)), ir.FloatType())

    return types.float32(types.float32), generate


@operation
def _mantissa(_: Any, _number: Any) -> Any:
    """The mantissa of a float32."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], BITS)
        power = builder.and_(builder.sub(bits, BITS(LOWEST)), BITS(0xFF800000))
        return builder.bitcast(builder.sub(bits, power), ir.FloatType())

    return types.float32(types.float32), generate


def _coefficients(degree: int = 7) -> list[np.float32]:
    """Coefficients of log2(1 + t) / t for mantissas 1 + t, exact to the precision of float32."""
    low, high = np.sqrt(0.5) - 1, np.sqrt(2) - 1
    knots = np.cos(np.pi * (np.arange(400) + 0.5) / 400) * (high - low) / 2 + (high + low) / 2
    values = np.log2(1 + knots) / knots
    fitted = Chebyshev.fit(knots, values, degree, domain=[low, high])
    return [np.float32(value) for value in fitted.convert(kind=Polynomial).coef]


C0, C1, C2, C3, C4, C5, C6, C7 = _coefficients()
ONE, ZERO = np.float32(1), np.float32(0)


@njit(fastmath=True, nogil=True)
def _add_pairs(rows: NDArray[np.float32], sums: Floats) -> None:
    heads, elements = rows.shape
    for start in range(0, elements, BLOCK):
        stop = min(elements, start + BLOCK)
        for i in range(heads):
            first = rows[i, start:stop]
            for j in range(i + 1):
                second = rows[j, start:stop]
                total = ZERO
                for k in range(stop - start):
                    both = first[k] + second[k]
                    t = _mantissa(both) - ONE
                    log = C7
                    log = log * t + C6
                    log = log * t + C5
                    log = log * t + C4
                    log = log * t + C3
                    log = log * t + C2
                    log = log * t + C1
                    log = log * t + C0
                    total += both * (_exponent(both) + log * t)
                sums[i, j] += total


def pair_sums(rows: Tensor) -> Floats:
    """(head, head) sums of s log s over (head, elements) float32 rows."""
    sums = np.zeros((len(rows), len(rows)))
    _add_pairs(rows.cpu().numpy(), sums)
    return np.asarray((np.tril(sums) + np.tril(sums, -1).T) * np.log(2))
