"""What headscope needs to know about a family of architectures in order to observe it."""

from __future__ import annotations

from dataclasses import dataclass
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


class Route(StrEnum):
    """Where the attention of a model is seen."""

    FUNCTION = "function"  # the model calls an attention function that transformers registers
    SOFTMAX = "softmax"  # it does not: where it multiplies the result of a softmax by its values


@dataclass(frozen=True)
class Adapter:
    """A family of architectures. Paths of modules are relative to a layer (a transformer block).

    Attributes:
        family: `model_type` in the configuration.
        route: where the attention is seen.
        layers: the number of the layer of each attention, in the order in which they run; -1 for
            one that is no attention of heads over tokens; empty: layer after layer.
        modules: in a model with an encoder and a decoder, the path of the module of each attention,
            in the order in which they are numbered: the encoder's, the decoder's, those of the
            decoder's text to the encoder's; empty in a model of one stack.
        projections: for each of these, the path of the module that takes the outputs of its heads;
            "" where there is none.
        depends_on_padding: whether a text is read otherwise when it is padded, so that only texts
            of one length can be read together.
        block_list: path in the network of the list of its layers.
        reserved_positions: entries of the position table that no token uses.
        output_projection: path of the projection whose inputs are the outputs of heads.
        mlp_module: path of the first module of the feed-forward network.

    >>> Adapter("my-family", output_projection="attention.out", mlp_module="mlp").route
    <Route.FUNCTION: 'function'>
    """

    family: str
    route: Route = Route.FUNCTION
    layers: tuple[int, ...] = ()
    modules: tuple[str, ...] = ()
    projections: tuple[str, ...] = ()
    depends_on_padding: bool = False
    block_list: str = ""
    reserved_positions: int = 0
    output_projection: str = ""
    mlp_module: str = ""

    def max_length(self, config: PretrainedConfig) -> int | None:
        """Largest number of tokens the model accepts; None if it sets no limit."""
        positions = getattr(config, "max_position_embeddings", None)
        if isinstance(positions, int) and positions > 0:
            return positions - self.reserved_positions
        return None

    @property
    def attending(self) -> tuple[int, ...]:
        """The numbers of the layers that attend, if they are not all."""
        return tuple(dict.fromkeys(layer for layer in self.layers if layer >= 0))

    def layer_of(self, turn: int) -> int:
        """The layer that attends as the `turn`-th.

        >>> Adapter("hybrid", layers=(1, 3)).layer_of(1)
        3
        """
        return self.layers[turn] if turn < len(self.layers) else turn

    def blocks(self, network: nn.Module) -> list[nn.Module]:
        """The modules of the layers that attend; one that several layers share occurs once."""
        if self.block_list:
            members = list(network.get_submodule(self.block_list).children())
            return [members[layer] for layer in self.attending] if self.layers else members
        blocks: list[nn.Module] = []
        if self.output_projection:
            blocks = _modules_with(network, self.output_projection, self.mlp_module)
        if not blocks:
            raise ModelError(f"the layers of {self.family!r} are not where headscope finds them")
        return blocks

    @property
    def exposes_values(self) -> bool:
        """Whether the output projections of all attentions are known."""
        return all(self.projections) if self.modules else bool(self.output_projection)

    def projection_of(self, network: nn.Module, layer: int) -> nn.Module:
        """The output projection of a layer."""
        if self.modules and self.projections[layer]:
            return network.get_submodule(self.projections[layer])
        if not self.output_projection:
            raise ModelError(
                f"between the heads of {self.family!r} and their output projection there is "
                "something else, or they have none"
            )
        blocks = self.blocks(network)
        place = self.attending.index(layer) if self.layers else layer
        block = blocks[0] if len(blocks) == 1 else blocks[place]
        return block.get_submodule(self.output_projection)


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

    >>> register(Adapter("bert", reserved_positions=2))
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
    <Route.SOFTMAX: 'softmax'>
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
