"""Random tokens that come twice: what a decoder cannot know from language, only from before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headscope.corpus.example import Example
from headscope.corpus.pieces import Pieces

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SEQUENCES, LENGTH = 64, 32
"""So many sequences, each of so many different tokens twice."""


def repeated_tokens(
    tokenizer: PreTrainedTokenizerBase, max_length: int, seed: int = 0
) -> list[Pieces]:
    """Sequences of different ordinary tokens, drawn at random, each sequence twice in a row.

    The first token is the one that begins a text, where the tokenizer has one.
    """
    begin = [] if tokenizer.bos_token_id is None else [int(tokenizer.bos_token_id)]
    special = set(tokenizer.all_special_ids) | set(tokenizer.get_added_vocab().values())
    ordinary = np.array(sorted(set(tokenizer.get_vocab().values()) - special))
    length = min(LENGTH, len(ordinary), (max_length - len(begin)) // 2)
    rng = np.random.default_rng(seed)
    found = []
    for number in range(SEQUENCES):
        drawn = rng.choice(ordinary, length, replace=False)
        ids = np.concatenate([begin, drawn, drawn]).astype(np.int64)
        words = tuple(str(one) for one in tokenizer.convert_ids_to_tokens(drawn.tolist() * 2))
        word = np.arange(len(ids)) - len(begin)
        found.append(
            Pieces(
                Example(f"repeated-{number}", words=words), ids, np.zeros_like(ids), word < 0,
                word.clip(min=-1), words,
            )
        )  # fmt: skip
    return found
