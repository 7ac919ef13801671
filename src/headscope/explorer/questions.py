"""What the live page asks, checked before any model runs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 4000
"""Characters of a text."""
MOST = 8
"""Texts to compare with."""


class Question(BaseModel):
    """What to look at.

    Attributes:
        model: one of those that are loaded, by name.
        others: texts to which the similarity of the text is measured.
        off: heads and layers that are switched off, as `L5.H9` or `L5`.
        weights: what maps show: attention, norm-weighted attention, or rollout.
    """

    model_config = ConfigDict(extra="forbid")

    model: str = Field(max_length=200)
    text: str = Field(min_length=1, max_length=LONGEST)
    others: list[str] = Field(default=[], max_length=MOST)
    off: list[str] = Field(default=[], max_length=2000)
    weights: str = Field(default="attention", pattern="^(attention|norm|rollout)$")
