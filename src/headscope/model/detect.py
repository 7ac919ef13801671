"""Detecting how the attention of a model can be observed: a dry run on two short texts."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.corpus import Example, encode
from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route, families, family_of
from headscope.model.attention import Kind, MapWatcher, Seen, Site, View
from headscope.model.batch import Batch, make_batch
from headscope.model.hooks.tap import Tap, watch
from headscope.model.token_roles import TokenRoles

DEFAULT_MAX_LENGTH = 4096
"""Largest number of tokens where neither the model nor its tokenizer sets a limit."""
ROW_SUM_TOLERANCE = 1e-2
OUTPUT_TOLERANCE = 2e-2
"""How far the output may differ while it is observed, relative to its largest value."""


def pad_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id to pad with; a decoder without a padding token pads with its end of text."""
    candidates = (tokenizer.pad_token_id, tokenizer.eos_token_id)
    return next((token_id for token_id in candidates if isinstance(token_id, int)), 0)


def detect_attention(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> tuple[Adapter, tuple[Site, ...]]:
    """Find an adapter that shows the attention of a model, in a dry run on two short texts.

    A family with an adapter is observed by it. For any other family, every route is tried until
    one shows rows that sum to 1 and leaves the output of the model unchanged.

    Returns:
        The adapter, and where the model attends.
    """
    adapter = family_of(network.config)
    reasons = []
    for candidate in [adapter] if adapter else _guesses(network):
        try:
            return candidate, _dry_run(network, tokenizer, candidate)
        except ModelError as error:
            reasons.append(str(error))
    raise ModelError(
        f"{type(network).__name__} (family {network.config.model_type!r}): "
        + ("; ".join(dict.fromkeys(reasons)) or "it has no module that looks like attention")
        + f". headscope supports {', '.join(families())}, and any model that calls transformers' "
        "attention functions or returns its attention weights."
    )


def _guesses(network: PreTrainedModel) -> list[Adapter]:
    """Adapters to try for a family that has none."""
    family = network.config.model_type
    classes = {type(module).__name__ for module in network.modules()}
    causal = bool(getattr(network.config, "is_decoder", False))
    hooks = [
        Adapter(family, Route.HOOK, name, causal=causal)
        for name in sorted(classes)
        if "Attention" in name
    ]
    return [Adapter(family), *hooks]


def _dry_run(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, adapter: Adapter
) -> tuple[Site, ...]:
    """The sites observed; an error if the adapter does not fit."""
    sites: list[Site] = []
    invalid_layers: list[int] = []

    def look(seen: Seen, maps: Tensor) -> None:
        sites.append(seen.site)
        if not _is_attention(seen.view, maps):
            invalid_layers.append(seen.site.layer)

    examples = [Example("1", text="A b, c. D e f."), Example("2", text="A.")]
    pieces = encode(examples, tokenizer, DEFAULT_MAX_LENGTH)
    batch = make_batch(pieces, TokenRoles(tokenizer), pad_id(tokenizer), network.device)
    try:
        unobserved = _output(network, adapter, batch)[batch.real]
        with watch(network, adapter, MapWatcher(look)) as tap:
            observed = tap.forward(batch)[batch.real]
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError, KeyError) as error:
        raise ModelError(f"cannot be run on text ({type(error).__name__}: {error})") from error
    if not sites:
        raise ModelError("it has no attention that can be observed")
    heads = [site.heads for site in sites]
    if invalid_layers or len(set(heads)) > 1:
        raise ModelError(
            f"what layers {invalid_layers or heads} return is not attention over the tokens"
        )
    scale = max(float(unobserved.abs().max()), 1e-6)
    if not torch.allclose(unobserved, observed, atol=OUTPUT_TOLERANCE * scale):
        raise ModelError("observing it changes its output, so it is not plain softmax attention")
    both_ways = any(site.kind is Kind.ENCODER for site in sites)
    kind = Kind.ENCODER if both_ways else Kind.DECODER
    return tuple(replace(site, kind=kind) for site in sites)


def _is_attention(view: View, maps: Tensor) -> bool:
    """Whether the rows of real queries sum to 1 and put no weight on invisible keys."""
    real = view.queries.real
    sums = maps.sum(-1).transpose(1, 2)[real]  # (real query, head)
    sums_to_1 = torch.allclose(sums, torch.ones_like(sums), atol=ROW_SUM_TOLERANCE)
    invisible = (maps * ~view.visible.mask()).transpose(1, 2)[real]
    return sums_to_1 and not bool(invisible.any())


@torch.inference_mode()
def _output(network: PreTrainedModel, adapter: Adapter, batch: Batch) -> Tensor:
    """(example, token, hidden) the output of the model while nobody observes it."""
    return Tap(network, adapter).forward(batch)
