"""What the live page asks, checked before any model runs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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


def refusal_of(error: ValidationError) -> str:
    """Why a question is refused, in a sentence for whoever typed the text."""
    first = error.errors()[0]
    place = str(first["loc"][0]) if first["loc"] else ""
    known = {
        ("text", "string_too_short"): "write a text first",
        ("text", "string_too_long"): f"the text has more than {LONGEST:,} characters",
        ("others", "too_long"): f"no more than {MOST} texts can be compared with",
    }
    unknown = f"this address is not one of the explorer's ({place}: {first['msg'].lower()})"
    return known.get((place, first["type"]), unknown)
