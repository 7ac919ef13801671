"""What a model has on top of its last layer."""

from __future__ import annotations

from enum import StrEnum


class Top(StrEnum):
    """What a model has on top of its last layer (transformers calls it a head, too).

    >>> Top("masked-lm")
    <Top.MASKED_LM: 'masked-lm'>
    """

    NONE = "nothing"
    CLASSIFIER = "classifier"
    MASKED_LM = "masked-lm"
    CAUSAL_LM = "causal-lm"
    SEQ2SEQ = "seq2seq"
