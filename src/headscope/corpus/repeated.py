"""Sequences of random tokens, each repeated once: predictable from context, not from language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headscope.corpus.example import Example
from headscope.corpus.pieces import Pieces

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SEQUENCES, LENGTH = 64, 32
"""Number of sequences, and number of different tokens in each (before repetition)."""


def repeated_tokens(
    tokenizer: PreTrainedTokenizerBase, max_length: int, seed: int = 0
) -> list[Pieces]:
    """Sequences of different non-special tokens, drawn at random and repeated once.

    They start with the tokenizer's beginning-of-sequence token, if it has one.
    """
    begin = [] if tokenizer.bos_token_id is None else [int(tokenizer.bos_token_id)]
    special = set(tokenizer.all_special_ids) | set(tokenizer.get_added_vocab().values())
    ordinary = np.array(sorted(set(tokenizer.get_vocab().values()) - special))
    length = min(LENGTH, len(ordinary), (max_length - len(begin)) // 2)
    rng = np.random.default_rng(seed)
    sequences = []
    for number in range(SEQUENCES):
        drawn = rng.choice(ordinary, length, replace=False)
        ids = np.concatenate([begin, drawn, drawn]).astype(np.int64)
        words = tuple(map(str, tokenizer.convert_ids_to_tokens(drawn.tolist() * 2)))
        word = np.arange(len(ids)) - len(begin)
        example = Example(f"repeated-{number}", words=words)
        sequences.append(
            Pieces(example, ids, np.zeros_like(ids), word < 0, word.clip(min=-1), words)
        )
    return sequences
