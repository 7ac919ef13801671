"""Running a network without dropout, whatever mode its parts are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Dropout is off in all parts of a network for the time of a `with`.

    >>> layer = nn.Dropout()
    >>> with evaluating(layer):
    ...     layer.training
    False
    >>> layer.training
    True
    """
    training = [module for module in network.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
