"""What the live page is told: the maps of all heads on a text, and what the model predicts."""

from __future__ import annotations

import base64
import zlib
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from torch import Tensor

from headscope.analyses.rollout import rollout
from headscope.corpus import Example
from headscope.corpus.display import MAX_TOKENS
from headscope.corpus.paired_pieces import PairedPieces
from headscope.errors import HeadscopeError
from headscope.explorer.predictions import Prediction, predict
from headscope.explorer.questions import Question
from headscope.model import Model, Top, disable
from headscope.model.attention import Kind, MapWatcher, Seen

Json = dict[str, Any]


def answer(model: Model, top: Top, question: Question) -> Json:
    """Look at a text with some heads off; what the model predicts with all heads on stands beside.

    Returns:
        `stacks`, for each kind of attention its tokens and where its maps begin; `maps`, uint8
        (query, key) of all heads, deflated, in base64; `before` and `now`, what is predicted.
    """
    off = ",".join(question.off)
    before = predict(model, top, question.text, question.others)
    with disable(model, off) if off else nullcontext():
        now = predict(model, top, question.text, question.others) if off else before
        stacks, levels = _maps(model, question, now)
    packed = base64.b64encode(zlib.compress(levels, 6)).decode()
    told = {"before": before and asdict(before), "now": now and asdict(now)}
    return {"stacks": stacks, "maps": packed, "off": question.off} | told


def _maps(model: Model, question: Question, now: Prediction | None) -> tuple[list[Json], bytes]:
    example = Example("text", text=question.text)
    if now is not None and now.said:
        example = replace(example, translation=Example("text", text=now.said))
    (pieces,) = model.encode([example])
    if pieces.lost:
        raise HeadscopeError(
            f"the text has {len(pieces) + pieces.lost} pieces, {model.name} reads {len(pieces)}"
        )
    if question.weights == "rollout" and model.translates:
        raise HeadscopeError("rollout follows one stack of layers, and this model has two")
    found: dict[Kind, list[tuple[int, np.ndarray[Any, Any]]]] = {}

    def keep(seen: Seen, weights: Tensor) -> None:
        layer = (seen.site.layer, weights[0].float().cpu().numpy().copy())
        found.setdefault(seen.site.kind, []).append(layer)

    with model.watch(MapWatcher(keep), norm_weighted=question.weights == "norm") as tap:
        tap.forward(model.batch([pieces]))
    if question.weights == "rollout":
        found = {kind: _rolled(layers) for kind, layers in found.items()}
    return _packed(model, pieces, found)


def _rolled(layers: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """The same for every head of a layer: how much of each token is in each token after it."""
    heads = min(maps.shape[0] for _, maps in layers)
    rolled = rollout(np.stack([maps[:heads] for _, maps in layers]))
    return [
        (layer, np.broadcast_to(rolled[place], maps.shape))
        for place, (layer, maps) in enumerate(layers)
    ]


def _packed(model: Model, pieces: Any, found: dict[Kind, Any]) -> tuple[list[Json], bytes]:
    levels = bytearray()
    stacks = []
    tokens = model.tokens(pieces)[:MAX_TOKENS]
    said = model.tokens(pieces.target)[:MAX_TOKENS] if isinstance(pieces, PairedPieces) else tokens
    for kind, layers in found.items():
        keys = said if kind is Kind.DECODER and model.translates else tokens
        queries = said if model.translates and kind is not Kind.ENCODER else tokens
        counts = [0] * (1 + max(layer for layer, _ in layers))
        at, heads = [], []
        for layer, maps in layers:
            counts[layer] = len(maps)
            for head, weights in enumerate(maps):
                shown = weights[: len(queries), : len(keys)].clip(0, 1)
                at.append(len(levels))
                prefix = f"{kind} " if model.translates else ""
                heads.append(f"{prefix}L{layer}.H{head}")
                levels += np.round(shown * 255).astype(np.uint8).tobytes()
        stacks.append(
            {
                "kind": str(kind) if model.translates else "",
                "layers": counts,
                "heads": heads,
                "text": {"id": "", "tokens": keys, "queries": queries, "at": at},
                "pieces": len(pieces),
            }
        )
    return stacks, bytes(levels)
