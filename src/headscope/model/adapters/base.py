"""What headscope has to know of a family of architectures to watch it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from headscope.errors import ModelError

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig

COMMON = (("self_attn.o_proj", "mlp"), ("self_attn.out_proj", "fc1"))
"""Where decoders that no adapter knows keep their output projection and feed-forward network."""


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
        output, feed: where in a layer its attention's output projection is, and what its
            feed-forward network begins with; empty: wherever one of the known places is.
        value: where its value projection is (only with a hook).
        core: where in a layer its attention is computed; with `into`, what removing heads needs.
        into: in the core, the projections into its heads; one that makes queries, keys and values
            at once makes them in this order.
        width, count: attributes of the core that hold its heads' summed size, their number.
        bias: which argument of the core is a bias with a row for each head.
    """

    family: str
    route: Route = Route.FUNCTION
    attention: str = ""
    reserved: int = 0
    causal: bool = False
    output: str = ""
    feed: str = ""
    value: str = ""
    core: str = ""
    into: tuple[str, ...] = ()
    width: str = ""
    count: str = ""
    bias: int | None = None

    def max_length(self, config: PretrainedConfig) -> int | None:
        """How many tokens the model can take; None where it sets no limit."""
        table = getattr(config, "max_position_embeddings", None)
        return table - self.reserved if isinstance(table, int) and table > 0 else None

    def placed(self, network: nn.Module) -> Adapter:
        """The adapter with `output` and `feed` filled in, where they can be found."""
        if self.output or self.route is Route.HOOK:
            return self
        known = [(one.output, one.feed) for one in _FAMILIES.values() if one.output]
        for output, feed in (*COMMON, *known):
            if _holders(network, output, feed):
                return replace(self, output=output, feed=feed)
        return self

    def blocks(self, network: nn.Module) -> list[nn.Module]:
        """The modules of the layers (one that serves several layers stands once)."""
        found = _holders(network, self.output, self.feed) if self.output else []
        if not found or (self.route is Route.HOOK and not self.value):
            raise ModelError(
                f"headscope does not know where the family {self.family!r} keeps its output "
                "projections, so it cannot switch its heads off; it needs an adapter (see "
                "model/adapters/bert.py)"
            )
        return found


def _holders(network: nn.Module, *paths: str) -> list[nn.Module]:
    """The modules that have something at each of the paths."""

    def holds(module: nn.Module, path: str) -> bool:
        try:
            module.get_submodule(path)
        except AttributeError:
            return False
        return True

    return [one for one in network.modules() if all(holds(one, path) for path in paths)]


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
