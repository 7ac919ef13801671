"""What headscope needs to know about a family of architectures in order to observe it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from headscope._util.plugins import load_plugins
from headscope.errors import ModelError

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig

COMMON_PLACES = (("self_attn.o_proj", "mlp"), ("self_attn.out_proj", "fc1"))
"""Output projection and MLP in the layers of many decoders that have no adapter."""


class Route(StrEnum):
    """How the attention weights are observed."""

    FUNCTION = "function"  # the model calls an attention function that transformers registers
    HOOK = "hook"  # it does not: a hook reads what its attention modules return


@dataclass(frozen=True)
class Adapter:
    """A family of architectures. Paths of modules are relative to a layer (a transformer block).

    Attributes:
        family: `model_type` in the configuration.
        route: how the attention weights are observed.
        attention_class: class name of the modules that return attention weights (`HOOK` only).
        reserved_positions: entries of the position table that no token uses.
        causal: whether a token sees only the tokens before it (`HOOK` only; an attention function
            receives the mask).
        output_projection: path of the output projection of the attention; if empty, the places
            used by other families are tried.
        mlp_module: path of the first module of the feed-forward network.
        value_projection: path of the value projection (`HOOK` only).
        attention_module: path of the module that computes the attention. Removing heads needs
            this and `qkv_modules`.
        qkv_modules: in the attention module, the projections whose outputs are split into heads.
            A fused projection must produce queries, keys and values in this order.
        all_head_size_attr: attribute of the attention module that holds heads times head size.
        num_heads_attr: attribute of the attention module that holds the number of heads.
        head_bias_argument: position of the argument of the attention module that is a bias with a
            row for each head.

    >>> Adapter("my-family", output_projection="attention.out", mlp_module="mlp").route
    <Route.FUNCTION: 'function'>
    """

    family: str
    route: Route = Route.FUNCTION
    attention_class: str = ""
    reserved_positions: int = 0
    causal: bool = False
    output_projection: str = ""
    mlp_module: str = ""
    value_projection: str = ""
    attention_module: str = ""
    qkv_modules: tuple[str, ...] = ()
    all_head_size_attr: str = ""
    num_heads_attr: str = ""
    head_bias_argument: int | None = None

    def max_length(self, config: PretrainedConfig) -> int | None:
        """Largest number of tokens the model accepts; None if it sets no limit."""
        positions = getattr(config, "max_position_embeddings", None)
        if isinstance(positions, int) and positions > 0:
            return positions - self.reserved_positions
        return None

    def located_in(self, network: nn.Module) -> Adapter:
        """The adapter with `output_projection` and `mlp_module` filled in if they can be found."""
        if self.output_projection or self.route is Route.HOOK:
            return self
        registered = [
            (adapter.output_projection, adapter.mlp_module)
            for adapter in families().values()
            if adapter.output_projection
        ]
        for output_projection, mlp_module in (*COMMON_PLACES, *registered):
            if _modules_with(network, output_projection, mlp_module):
                return replace(self, output_projection=output_projection, mlp_module=mlp_module)
        return self

    def blocks(self, network: nn.Module) -> list[nn.Module]:
        """The modules of the layers; a module shared by several layers occurs once."""
        blocks: list[nn.Module] = []
        if self.output_projection:
            blocks = _modules_with(network, self.output_projection, self.mlp_module)
        if not blocks or (self.route is Route.HOOK and not self.value_projection):
            raise ModelError(
                f"headscope does not know the output projections of the family {self.family!r}, "
                "which switching heads off needs; write an adapter (see model/adapters/bert.py)"
            )
        return blocks


def _modules_with(network: nn.Module, *paths: str) -> list[nn.Module]:
    """The modules that have a submodule at each of the paths."""

    def has(module: nn.Module, path: str) -> bool:
        try:
            module.get_submodule(path)
        except AttributeError:
            return False
        return True

    return [module for module in network.modules() if all(has(module, path) for path in paths)]


_REGISTERED: dict[str, Adapter] = {}
"""Adapters from outside this package."""


def register(adapter: Adapter) -> Adapter:
    """Register the adapter of a family; for packages that bring an adapter of their own.

    Raises an error if the family has a different adapter already.

    >>> register(Adapter("bert", causal=True))
    Traceback (most recent call last):
    headscope.errors.ModelError: there is another adapter for the family 'bert' already
    """
    if not adapter.family:
        raise ModelError("an adapter needs a family: the model_type of the configuration")
    if families().get(adapter.family, adapter) != adapter:
        raise ModelError(f"there is another adapter for the family {adapter.family!r} already")
    _REGISTERED[adapter.family] = adapter
    return adapter


def families() -> dict[str, Adapter]:
    """All adapters by family (`model_type`): the built-in ones and those that were registered.

    >>> families()["mpnet"].route
    <Route.HOOK: 'hook'>
    """
    load_plugins("adapters")
    return _builtin_adapters() | _REGISTERED


def family_of(config: PretrainedConfig) -> Adapter | None:
    """The adapter of a configuration's family; None if there is none."""
    return families().get(config.model_type)


@cache
def _builtin_adapters() -> dict[str, Adapter]:
    """The adapters that the modules of this package define, imported on first use."""
    package = import_module(__package__ or "headscope.model.adapters")
    adapters: dict[str, Adapter] = {}
    for info in iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{info.name}")
        for adapter in vars(module).values():
            if isinstance(adapter, Adapter) and (
                adapters.setdefault(adapter.family, adapter) != adapter
            ):
                raise ModelError(f"two adapters are defined for the family {adapter.family!r}")
    return adapters
