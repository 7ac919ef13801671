"""Words and pieces: every piece has one word, no word is lost track of, cutting is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tokenizers as tk
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2Tokenizer

from headscope.corpus import Budget, Example, encode, plan_batches
from headscope.corpus.frequencies import Frequencies, frequencies_from
from headscope.errors import HeadscopeError
from headscope.model.token_roles import TokenRoles
from headscope.testing import tiny_tokenizer

TOKENIZER = tiny_tokenizer()
words = st.lists(st.sampled_from(["ab", "kaka", "c", ".", "\u200b", "dededede", "é"]), min_size=1)


@settings(max_examples=60, deadline=None)
@given(words, st.one_of(st.just([]), words), st.integers(6, 60))
def test_pieces_belong_to_words(first: list[str], second: list[str], longest: int) -> None:
    example = Example("1", words=tuple(first), pair_words=tuple(second))
    (pieces,) = encode([example], TOKENIZER, longest)
    (whole,) = encode([example], TOKENIZER, 10_000)
    assert pieces.words == tuple(first + second)
    assert len(pieces) <= longest
    assert pieces.lost == len(whole) - len(pieces)
    assert ((pieces.word == -1) == pieces.special).all()
    own = pieces.word[pieces.word >= 0]
    assert (own[1:] >= own[:-1]).all()
    spelled: dict[int, str] = {}
    for word, piece in zip(
        whole.word, TOKENIZER.convert_ids_to_tokens(whole.ids.tolist()), strict=True
    ):
        if word >= 0:
            spelled[int(word)] = spelled.get(int(word), "") + piece
    for place, text in enumerate(pieces.words):
        expected = "" if text == "\u200b" else text.replace("é", "[UNK]")
        assert spelled.get(place, "") == expected


def test_a_word_without_pieces_keeps_its_place() -> None:
    (pieces,) = encode([Example("1", words=("ab", "\u200b", "cd"))], TOKENIZER, 50)
    assert pieces.word.tolist() == [-1, 0, 2, -1]


def test_words_of_raw_text_are_the_tokenizers() -> None:
    (pieces,) = encode([Example("1", text="Ab kaka.", pair="c")], TOKENIZER, 50)
    assert [word.lower() for word in pieces.words] == ["ab", "ka", "ka", ".", "c"]
    assert pieces.word.tolist() == [-1, 0, 1, 2, 3, -1, 4, -1]
    assert pieces.segments.tolist() == [0] * 6 + [1] * 2


def test_examples_of_all_kinds_keep_their_order() -> None:
    examples = [
        Example("1", text="ab"),
        Example("2", words=("cd",)),
        Example("3", text="a", pair="b"),
        Example("4", words=("c",), pair_words=("d", "e")),
        Example("5", text="ef"),
    ]
    assert [pieces.example.id for pieces in encode(examples, TOKENIZER, 50)] == list("12345")


def test_byte_level_words_carry_the_space_before_them() -> None:
    alphabet = tk.pre_tokenizers.ByteLevel.alphabet()
    core = tk.Tokenizer(tk.models.BPE())
    core.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tk.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    core.train_from_iterator(["she did not go . she did go ."] * 3, trainer)
    model = json.loads(core.to_str())["model"]
    merges: Any = [tuple(merge) for merge in model["merges"]]
    gpt2 = GPT2Tokenizer(vocab=model["vocab"], merges=merges)
    example = Example("1", words=("she", "did", "go", "."), spaces=(True, True, True, False))
    (split,) = encode([example], gpt2, 50)
    (whole,) = encode([Example("2", text="she did go.")], gpt2, 50)
    assert split.ids.tolist() == whole.ids.tolist()
    assert split.word.tolist() == whole.word.tolist()


@given(st.lists(st.integers(1, 300), max_size=80), st.integers(1, 900), st.integers(1, 90_000))
def test_batches_hold_everything_once_within_the_budget(
    lengths: list[int], tokens: int, area: int
) -> None:
    budget = Budget(tokens, area)
    batches = plan_batches(lengths, budget)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        within = len(batch) * longest <= tokens and len(batch) * longest**2 <= area
        assert within or len(batch) == 1


def test_frequencies() -> None:
    counted = Frequencies()
    counted.count(["a", "A", "b", ""])
    assert counted.frequent == {"a", "b"}
    english = frequencies_from("wordfreq:en")
    assert english.of("the") > english.of("lighthouse") > english.of("zzzqx")
    assert "the" in english.frequent
    for wrong in ("wordfreq", "wordfreq:xx", "moon"):
        with pytest.raises(HeadscopeError, match=r"wordfreq"):
            frequencies_from(wrong)


def test_roles_come_from_the_tokenizer() -> None:
    roles = TokenRoles(TOKENIZER)
    (pieces,) = encode([Example("1", text="ab . , ! cd", pair="a")], TOKENIZER, 50)
    tokens = TOKENIZER.convert_ids_to_tokens(pieces.ids.tolist())
    assert [t for t, is_one in zip(tokens, roles.separator(pieces.ids), strict=True) if is_one] == [
        "[SEP]"
    ] * 2
    assert [t for t, is_one in zip(tokens, roles.stop(pieces.ids), strict=True) if is_one] == [
        ".",
        ",",
    ]
    found = [t for t, is_one in zip(tokens, roles.punctuation(pieces.ids), strict=True) if is_one]
    assert found == [".", ",", "!"]
