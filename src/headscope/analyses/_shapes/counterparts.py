"""Counterparts: tokens of a pair that look at the same token in the other sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses._shapes.tokens import Tokens
from headscope.model.hooks.workspace import Workspace

if TYPE_CHECKING:
    from torch import Tensor

TINY = 1e-6
FAINT = 0.005


def counterpart_features(
    weights: Tensor, tokens: Tokens, same: Tensor, space: Workspace
) -> dict[str, Tensor]:
    """(example, head) each: ink on counterparts, and on lines that join two sentences.

    Args:
        weights: (example, head, query, key)
        same: (example, token) equal numbers stand for equal tokens.
    """
    length = weights.shape[-1]
    text, second = tokens.text, tokens.second
    both = text[:, :, None] & text[:, None, :]
    across = both & (second[:, :, None] != second[:, None, :])  # (example, query, key)
    pairs = across & (same[:, :, None] == same[:, None, :])
    ink = torch.sqrt(weights, out=space.take("counterpart ink", tuple(weights.shape), weights))
    largest = ink.amax(-1, keepdim=True)
    groups = torch.stack([pairs, across & ~pairs, both & ~across], 1).flatten(2).float()
    many = groups.sum(-1)[:, None].clamp_min(1)  # (example, 1, group)
    counterpart, other, own = (ink.flatten(2) @ groups.mT / many).unbind(-1)
    dark = torch.ge(ink, 0.3 * largest, out=space.take("dark counterparts", tuple(ink.shape), ink))
    dark_counterpart, dark_other, _ = (dark.flatten(2) @ groups.mT / many).unbind(-1)
    # what is left of the ink between sentences without what all rows of a sentence have
    crossing = across[:, None].float()
    rows = across.sum(1)[:, None, None].clamp_min(1)  # (example, 1, 1, key) rows that cross to it
    ink *= crossing
    ink -= ink.sum(2, keepdim=True) / rows * crossing
    flat, energy = ink.flatten(2), (ink**2).sum((2, 3)).clamp_min(TINY)
    steps = {"along": length + 1, "down": length, "across": 1, "against": length - 1}
    lines = {
        f"cross_{name}": torch.linalg.vecdot(flat[..., step:], flat[..., :-step]) / energy
        for name, step in steps.items()
    }
    return lines | {
        "cross_farther": torch.linalg.vecdot(
            flat[..., 2 * steps["along"] :], flat[..., : -2 * steps["along"]]
        )
        / energy,
        "cross_energy": (energy / tokens.rows).sqrt(),
        "cross_peak": (ink / largest.clamp_min(TINY)).amax((2, 3)),
        "twins_over_others": ((counterpart + FAINT) / (other + FAINT)).log(),
        "twins_over_own": ((counterpart + FAINT) / (own + FAINT)).log(),
        "others_over_own": ((other + FAINT) / (own + FAINT)).log(),
        "dark_twins": dark_counterpart,
        "dark_others": dark_other,
        "twin_tokens": (pairs.sum((1, 2))[:, None] / tokens.rows).log1p().expand_as(counterpart),
    }
