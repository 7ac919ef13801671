"""Where a model with an encoder and a decoder attends, found by running it, and verified.

Source and target have different lengths, so that the shape of an attention tells whose queries look
at whose keys. Maps must be those that the model itself returns for its encoder, its decoder and
between them; the output must not change, and switching a head off must change it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.corpus import Example, encode
from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route
from headscope.model.attention import Kind, MapWatcher, Seen, Site
from headscope.model.batch import make_batch, pad_id
from headscope.model.hooks.attention_function import AttentionCall, eager, replaced_attention
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.softmax_route import replaced_products
from headscope.model.hooks.tap import watch
from headscope.model.paired_batch import PairedBatch
from headscope.model.token_roles import TokenRoles
from headscope.model.trial import no_hooks_left

SOURCES = ("A b, c. D e f, a b; g a d. B e a!", "A d.")
TARGETS = ("B e a c.", "C e, a d e f. A!")
RETURNED = {
    Kind.ENCODER: "encoder_attentions",
    Kind.DECODER: "decoder_attentions",
    Kind.CROSS: "cross_attentions",
}
"""By kind: what the model itself calls its maps."""
NEAR = 1e-5
ORDER = list(Kind)


def find_stacks(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, adapter: Adapter
) -> tuple[Adapter, tuple[Site, ...]]:
    """The adapter with the modules that attend, and where the model attends; verified."""
    batch = _batch(network, tokenizer)
    reasons = []
    for route in Route:
        found = _attentions(network, batch, route)
        sites = tuple(sorted(found, key=lambda site: (ORDER.index(site.kind), site.place)))
        tried = replace(adapter, route=route, modules=tuple(found[site] for site in sites))
        try:
            _check_maps(network, tried, sites, batch)
            for number in range(len(sites)):
                _check_switching(network, tried, batch, number)
        except ModelError as error:
            reasons.append(str(error))
        else:
            return tried, sites
    raise ModelError(reasons[-1])


def _batch(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> PairedBatch:
    def side(texts: tuple[str, ...]) -> Any:
        examples = [Example(str(number), text=text) for number, text in enumerate(texts)]
        pieces = encode(examples, tokenizer, 32)
        return make_batch(pieces, TokenRoles(tokenizer), pad_id(tokenizer), network.device)

    return PairedBatch(side(SOURCES), side(TARGETS))


@torch.inference_mode()
def _attentions(
    network: PreTrainedModel, batch: PairedBatch, route: Route
) -> dict[Site, str]:
    """Each attention over tokens, with the path of the module that computes it."""
    names = {module: name for name, module in network.named_modules()}
    running: list[str] = []
    found: dict[str, Site] = {}
    counts = dict.fromkeys(Kind, 0)

    def note(path: str, weights: tuple[int, ...]) -> None:
        kinds = [kind for kind in Kind if weights[2:] == _lengths(batch, kind)]
        if kinds and path not in found:
            number = counts[kinds[0]]
            counts[kinds[0]] += 1
            found[path] = Site(kinds[0], number, number, weights[1])

    def attend(call: AttentionCall) -> tuple[Tensor, Tensor]:
        note(names[call.module], (*call.query.shape[:3], call.key.shape[2]))
        return call.run()

    def product(weights: Tensor, _: Tensor, __: Tensor, outputs: Tensor) -> Tensor:
        note(running[-1], tuple(weights.shape))
        return outputs

    with ExitStack() as undo:
        undo.enter_context(replaced_attention(network, attend))
        if route is Route.SOFTMAX:
            undo.enter_context(replaced_products(network, product))
            for module, name in names.items():
                enter, leave = _following(running, name)
                undo.callback(module.register_forward_pre_hook(enter).remove)
                undo.callback(module.register_forward_hook(leave).remove)
        network(**batch.inputs(network))
    return {site: path for path, site in found.items()}


def _following(running: list[str], name: str) -> tuple[Any, Any]:
    """Hooks that keep a list of the modules that are running."""
    return lambda *_: running.append(name), lambda *_: running.pop() and None


def _lengths(batch: PairedBatch, kind: Kind) -> tuple[int, int]:
    queries, keys = batch.sides(kind)
    return queries.ids.shape[1], keys.ids.shape[1]


@torch.inference_mode()
def _check_maps(
    network: PreTrainedModel, adapter: Adapter, sites: tuple[Site, ...], batch: PairedBatch
) -> None:
    """Maps and output must be the model's own."""
    maps: dict[Site, Tensor] = {}

    def look(seen: Seen, weights: Tensor) -> None:
        maps[seen.site] = weights.clone()

    with watch(network, adapter, MapWatcher(look), sites=dict(enumerate(sites))) as tap:
        output = tap.forward(batch)
    with eager(network), no_hooks_left(network):
        own = network(**batch.inputs(network), output_attentions=True)
    plain = own[0]
    if float((output - plain)[batch.real].abs().max()) > 1e-3 * float(plain.abs().max()):
        raise ModelError("watching it changes its output")
    for kind, name in RETURNED.items():
        returned = [each for each in getattr(own, name, None) or () if each is not None]
        watched = [site for site in sites if site.kind is kind]
        if len(returned) != len(watched):
            raise ModelError(
                f"{len(watched)} attentions of its {kind} can be seen, and it returns maps of "
                f"{len(returned)}"
            )
        rows = batch.sides(kind)[0].real[:, None, :, None]
        for site, theirs in zip(watched, returned, strict=True):
            off = float(((maps[site] - theirs.float()) * rows).abs().max())
            if off > NEAR:
                raise ModelError(f"the weights of {site.name} are {off:.2g} from the model's own")


@torch.inference_mode()
def _check_switching(
    network: PreTrainedModel, adapter: Adapter, batch: PairedBatch, number: int
) -> None:
    """Switching a head off must change the output."""

    def off(outputs: HeadOutputs) -> Tensor:
        context = outputs.context.clone()
        context[:, :, 0] *= float(outputs.layer != number)
        return context

    inputs = batch.inputs(network)
    before = network(**inputs)[0]
    with intercept_head_outputs(network, adapter, off):
        changed = network(**inputs)[0]
    if torch.equal(changed[batch.real], before[batch.real]):
        raise ModelError("switching its heads off changes nothing")


def has_two_stacks(network: nn.Module) -> bool:
    """Whether a network has an encoder and a decoder."""
    return all(isinstance(getattr(network, name, None), nn.Module) for name in ("encoder", "decoder"))
