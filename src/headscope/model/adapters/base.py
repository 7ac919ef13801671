"""What headscope has to know of a family of architectures to watch it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig


class Route(StrEnum):
    """How the weights are seen."""

    FUNCTION = "function"  # the model calls a registered attention function
    HOOK = "hook"  # it does not: a hook on its attention modules sees what they return


@dataclass(frozen=True)
class Adapter:
    """A family of architectures.

    Attributes:
        family: `model_type` of the configuration.
        route: how the weights are seen.
        attention: class name of the modules that a hook watches (only with a hook).
        reserved: positions of the position table that no token can have.
        causal: whether a token sees only what stands before it (only with a hook; a function
            is handed the mask).
    """

    family: str
    route: Route = Route.FUNCTION
    attention: str = ""
    reserved: int = 0
    causal: bool = False

    def max_length(self, config: PretrainedConfig) -> int | None:
        """How many tokens the model can take; None where it sets no limit."""
        table = getattr(config, "max_position_embeddings", None)
        return table - self.reserved if isinstance(table, int) and table > 0 else None


_FAMILIES: dict[str, Adapter] = {}


def register(adapter: Adapter) -> Adapter:
    """Make a family known by its `model_type`."""
    _FAMILIES[adapter.family] = adapter
    return adapter


def families() -> dict[str, Adapter]:
    """The known families by `model_type`.

    >>> families()["mpnet"].route
    <Route.HOOK: 'hook'>
    """
    return dict(_FAMILIES)


def family_of(config: PretrainedConfig) -> Adapter | None:
    """The adapter of a configuration's family; None where no adapter knows it."""
    return _FAMILIES.get(config.model_type)
