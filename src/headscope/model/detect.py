"""Finding out how a model's attention can be watched: a dry run on two short texts."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.corpus import Example, encode
from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route, families, family_of
from headscope.model.attention import LayerAttention
from headscope.model.batch import Batch, make_batch
from headscope.model.hooks.tap import Tap, watch
from headscope.model.token_roles import Roles

UNLIMITED = 4096
"""Tokens a text may have where neither model nor tokenizer sets a limit."""


def pad_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id to pad with; a decoder without one pads with its end of text, which no text has."""
    known = (tokenizer.pad_token_id, tokenizer.eos_token_id)
    return next((one for one in known if isinstance(one, int)), 0)


def find_attention(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> tuple[Adapter, int, int]:
    """A dry run: how this model's attention is seen, and its layers and heads.

    A known family is watched by its adapter, any other by each way there is until one shows
    rows that sum to 1 and leaves the model's output as it is.
    """
    known = family_of(network.config)
    reasons = []
    for adapter in [known] if known else list(_guesses(network)):
        try:
            return adapter, *_dry_run(network, tokenizer, adapter)
        except ModelError as error:
            reasons.append(str(error))
    raise ModelError(
        f"{type(network).__name__} (family {network.config.model_type!r}): "
        + ("; ".join(dict.fromkeys(reasons)) or "it has no module that looks like attention")
        + f". headscope knows {', '.join(families())}, and whatever calls transformers' "
        "attention functions or returns its weights."
    )


def _guesses(network: PreTrainedModel) -> list[Adapter]:
    """Ways to watch a family that no adapter knows."""
    kind = network.config.model_type
    names = {type(m).__name__ for m in network.modules() if "Attention" in type(m).__name__}
    causal = bool(getattr(network.config, "is_decoder", False))
    hooks = [Adapter(kind, Route.HOOK, name, causal=causal) for name in sorted(names)]
    return [Adapter(kind), *hooks]


def _dry_run(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, adapter: Adapter
) -> tuple[int, int]:
    """Layers and heads as seen on two short texts; an error where this adapter does not do."""
    heads: list[int] = []
    wrong: list[int] = []

    def look(attention: LayerAttention) -> None:
        heads.append(attention.weights.shape[1])
        real = attention.batch.real
        rows = attention.weights.transpose(1, 2)[real]  # (real query, head, key)
        hidden = rows * ~attention.visible.mask.transpose(1, 2)[real]
        totals = rows.sum(-1)
        if not torch.allclose(totals, torch.ones_like(totals), atol=1e-2) or bool(hidden.any()):
            wrong.append(attention.layer)

    examples = [Example("1", text="A b, c. D e f."), Example("2", text="A.")]
    pieces = encode(examples, tokenizer, UNLIMITED)
    batch = make_batch(pieces, Roles(tokenizer), pad_id(tokenizer), network.device)
    try:
        before = _output(network, adapter, batch)
        with watch(network, adapter, look) as tap:
            after = tap.forward(batch)
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError, KeyError) as error:
        raise ModelError(f"cannot be run on text ({type(error).__name__}: {error})") from error
    if not heads:
        raise ModelError("it has no attention that could be watched")
    if wrong or len(set(heads)) > 1:
        raise ModelError(f"what layers {wrong or heads} show is not attention over the tokens")
    scale = float(before[batch.real].abs().max())
    if not torch.allclose(before[batch.real], after[batch.real], atol=2e-2 * max(scale, 1e-6)):
        raise ModelError("watching changes its output, so its attention is not computed plainly")
    return len(heads), heads[0]


@torch.inference_mode()
def _output(network: PreTrainedModel, adapter: Adapter, batch: Batch) -> Tensor:
    """The model's own output, with nobody watching."""
    return Tap(network, adapter, lambda _: None).forward(batch)
