"""Where a model with an encoder and a decoder attends, found by running it, and verified.

Source and target have different lengths, so that the shape of an attention tells whose queries look
at whose keys. Each kind of attention is verified by itself: its maps must be those that the model
itself returns, and switching a head off must change the output. A kind that does not pass is left
out with the reason; watching the others must not change the output.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.pytorch_utils import Conv1D

from headscope.corpus import Example, encode
from headscope.corpus.paired_pieces import pair_up
from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route
from headscope.model.attention import Kind, MapWatcher, Seen, Site
from headscope.model.batch import pad_id
from headscope.model.hooks.attention_function import AttentionCall, eager, replaced_attention
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.product_layouts import as_whole
from headscope.model.hooks.softmax_route import replaced_products
from headscope.model.hooks.tap import watch
from headscope.model.paired_batch import PairedBatch, make_paired_batch
from headscope.model.softmax_counter import SoftmaxCounter
from headscope.model.token_roles import TokenRoles
from headscope.model.trial import is_input, no_hooks_left
from headscope.model.two_stacks import stacks_of
from headscope.model.verification import RUN_ERRORS, first_line

PAIRS = (
    ("A b, c. D e f, a b; g a d. B e a!", "B e a c."),
    ("A d.", "C e, a d e f. A b c d."),
)
LONGEST = 48
RETURNED = {
    Kind.ENCODER: "encoder_attentions",
    Kind.DECODER: "decoder_attentions",
    Kind.CROSS: "cross_attentions",
}
"""By kind: what the model itself calls its maps."""
ORDER = list(Kind)
Maps = dict[Site, Tensor]


@dataclass(frozen=True)
class Found:
    """Where a model attends.

    Attributes:
        missing: kinds of attention that cannot be seen, and why.
    """

    adapter: Adapter
    sites: tuple[Site, ...]
    missing: dict[Kind, str] = field(default_factory=dict)


def find_stacks(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, adapter: Adapter
) -> Found:
    """Where a model with an encoder and a decoder attends, by the route that shows most of it."""
    tried: list[Found] = []
    for route in Route:
        try:
            found = StackVerification(network, tokenizer, replace(adapter, route=route)).run()
        except RUN_ERRORS as error:
            raise ModelError(
                f"it cannot be run on a text and its translation, it says: {first_line(error)}"
            ) from error
        if not found.missing:
            return found
        tried.append(found)
    best = min(tried, key=lambda found: len(found.missing))
    if not best.sites:
        raise ModelError(best.missing[Kind.ENCODER])
    return best


class StackVerification:
    """Tries one way to watch a model with an encoder and a decoder."""

    def __init__(
        self, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, adapter: Adapter
    ) -> None:
        self.network, self.tokenizer, self.adapter = network, tokenizer, adapter
        half = network.dtype in (torch.float16, torch.bfloat16)
        self.near = 5e-2 if half else 1e-5
        self.near_output = 1e-1 if half else 1e-3
        self.batch = self._batch(PAIRS)
        if self.batch.ids.shape[1] == self.batch.target.ids.shape[1]:  # shapes would tell nothing
            source, target = PAIRS[1]
            self.batch = self._batch((PAIRS[0], (source, f"{target} E f g.")))

    def run(self) -> Found:
        """What can be seen, and what cannot."""
        softmaxes = SoftmaxCounter()
        paths = self._find(softmaxes)
        missing: dict[Kind, str] = {}
        for kind in Kind:
            some = {path: site for path, site in paths.items() if site.kind is kind}
            adapter, sites = self._numbered(some)
            try:
                if any(softmaxes.counts[path] > 1 for path in some):
                    raise ModelError(f"its {kind} attention has several streams with one output")
                self._check(kind, adapter, sites)
            except ModelError as error:
                missing[kind] = str(error)
        seen = {path: site for path, site in paths.items() if site.kind not in missing}
        adapter, sites = self._numbered(seen)
        if sites:
            self._check_output(adapter, sites)
            adapter = replace(adapter, projections=self._projections(adapter))
            adapter = replace(adapter, depends_on_padding=self._depends_on_padding(adapter, sites))
        return Found(adapter, sites, missing)

    def _batch(self, pairs: tuple[tuple[str, str], ...]) -> PairedBatch:
        examples = [
            Example(str(number), text=source, translation=Example(str(number), text=target))
            for number, (source, target) in enumerate(pairs)
        ]
        texts = encode(examples, self.tokenizer, LONGEST)
        start = getattr(self.network.config, "decoder_start_token_id", None)
        paired = list(pair_up(texts, self.tokenizer, LONGEST, start))
        roles = TokenRoles(self.tokenizer)
        return make_paired_batch(paired, roles, pad_id(self.tokenizer), self.network.device)

    @torch.inference_mode()
    def _find(self, softmaxes: SoftmaxCounter) -> dict[str, Site]:
        """The path of every module that attends over tokens, and where that is."""
        names = {module: name for name, module in self.network.named_modules()}
        running = softmaxes.running
        found: dict[str, Site] = {}
        counts = dict.fromkeys(Kind, 0)

        def note(path: str, weights: tuple[int, ...]) -> None:
            kinds = [kind for kind in Kind if weights[2:] == self._lengths(kind)]
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
            undo.enter_context(replaced_attention(self.network, attend))
            if self.adapter.route is Route.SOFTMAX:
                for part in stacks_of(self.network):
                    undo.enter_context(replaced_products(part, product))
                softmaxes.install(self.network, undo)
            self._run()
        return found

    def _run(self) -> Tensor:
        output: Tensor = self.network(**self.batch.inputs(self.network))[0]
        return output

    def _lengths(self, kind: Kind) -> tuple[int, int]:
        queries, keys = self.batch.sides(kind)
        return queries.ids.shape[1], keys.ids.shape[1]

    def _numbered(self, paths: dict[str, Site]) -> tuple[Adapter, tuple[Site, ...]]:
        """The adapter and the sites of some attentions, in their order."""
        ordered = sorted(paths.items(), key=lambda item: (ORDER.index(item[1].kind), item[1].layer))
        adapter = replace(self.adapter, modules=tuple(path for path, _ in ordered))
        return adapter, tuple(site for _, site in ordered)

    def _check(self, kind: Kind, adapter: Adapter, sites: tuple[Site, ...]) -> None:
        """Maps of a kind must be the model's own, and each attention must have an effect."""
        own = self._own.get(kind, [])
        if not sites:
            raise ModelError(f"its {kind} attention is not over the tokens of the text")
        if len(own) != len(sites):
            raise ModelError(
                f"{len(sites)} layers with {kind} attention can be seen, and it returns the maps "
                f"of {len(own)}"
            )
        rows = self.batch.sides(kind)[0].real[:, None, :, None]
        for (site, ours), returned in zip(
            self._maps(adapter, sites, self.batch).items(), own, strict=True
        ):
            theirs = as_whole(returned, ours)
            if ours.shape != theirs.shape:
                raise ModelError(f"{site.name} has maps of another shape than the model's own")
            off = float(((ours - theirs) * rows).abs().max())
            if off > self.near:
                raise ModelError(
                    f"the weights of {site.name} are up to {off:.2g} from those that the model "
                    "itself returns"
                )
        before = self._without(adapter, -1)
        for number, site in enumerate(sites):
            if torch.equal(self._without(adapter, number), before):
                raise ModelError(f"switching heads of {site.name} off changes nothing")

    @torch.inference_mode()
    def _maps(self, adapter: Adapter, sites: tuple[Site, ...], batch: PairedBatch) -> Maps:
        maps: Maps = {}

        def look(seen: Seen, weights: Tensor) -> None:
            maps[seen.site] = weights.clone()

        numbered = dict(enumerate(sites))
        with watch(self.network, adapter, MapWatcher(look), sites=numbered) as tap:
            tap.forward(batch)
        return maps

    @cached_property
    def _own(self) -> dict[Kind, list[Tensor]]:
        """The maps that the model itself returns under eager attention."""
        with torch.inference_mode(), eager(self.network), no_hooks_left(self.network):
            inputs = self.batch.inputs(self.network)
            output = self.network(**inputs, output_attentions=True)
        own: dict[Kind, list[Tensor]] = {}
        for kind, name in RETURNED.items():
            returned = getattr(output, name, None) or ()
            own[kind] = [_as_weights(each) for each in returned if isinstance(each, Tensor)]
        return own

    @torch.inference_mode()
    def _without(self, adapter: Adapter, number: int) -> Tensor:
        """The output with all heads of an attention off (one may be idle); of -1, of none."""

        def off(outputs: HeadOutputs) -> Tensor:
            return outputs.context * float(outputs.layer != number)

        with intercept_head_outputs(self.network, adapter, off):
            return self._run()

    @torch.inference_mode()
    def _check_output(self, adapter: Adapter, sites: tuple[Site, ...]) -> None:
        plain, real = self._run(), self.batch.target.real
        with watch(self.network, adapter, sites=dict(enumerate(sites))) as tap:
            output = tap.forward(self.batch)
        size = float(plain[real].abs().max().clamp_min(1e-6))
        if float((output - plain)[real].abs().max()) > self.near_output * size:
            raise ModelError("watching it changes its output")

    @torch.inference_mode()
    def _projections(self, adapter: Adapter) -> tuple[str, ...]:
        """For each attention the path of the linear map that takes the outputs of its heads."""
        found = [""] * len(adapter.modules)
        last: list[tuple[int, Tensor]] = []

        def keep(outputs: HeadOutputs) -> Tensor:
            last[:] = [(outputs.layer, outputs.context.clone())]
            return outputs.context

        def compare(name: str, given: tuple[Any, ...]) -> None:
            if last and not found[last[0][0]] and is_input(given, last[0][1]):
                found[last[0][0]] = name

        def comparing(name: str) -> Any:
            return lambda _, given: compare(name, given)

        with ExitStack() as undo:
            for name, module in self.network.named_modules():
                if isinstance(module, nn.Linear | Conv1D):
                    undo.callback(module.register_forward_pre_hook(comparing(name)).remove)
            undo.enter_context(intercept_head_outputs(self.network, adapter, keep))
            self._run()
        return tuple(found)

    def _depends_on_padding(self, adapter: Adapter, sites: tuple[Site, ...]) -> bool:
        """Whether the attention of a pair depends on the pairs beside it."""
        together = self._maps(adapter, sites, self.batch)
        for place, pair in enumerate(PAIRS):
            for site, alone in self._maps(adapter, sites, self._batch((pair,))).items():
                rows, keys = alone.shape[2:]
                off = float((together[site][place, :, :rows, :keys] - alone[0]).abs().max())
                if off > 10 * self.near:
                    return True
        return False


def _as_weights(maps: Tensor) -> Tensor:
    """Maps as weights, where a family returns the scores before the softmax (ProphetNet)."""
    maps = maps.float()
    return maps.softmax(-1) if float(maps.min()) < -1e-3 else maps
