"""How frequent a word is: in the corpus itself, or in a language at large (wordfreq)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from heapq import nsmallest

from headscope.errors import HeadscopeError

FREQUENT = 500
"""Voita et al. leave out texts whose rarest word is among so many most frequent ones."""


class Frequencies:
    """Frequencies of words, case ignored, counted as they are read.

    >>> words = Frequencies()
    >>> words.count(["The", "cat", "the"])
    >>> words.of("THE"), words.of("dog")
    (2.0, 0.0)
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, words: Iterable[str]) -> None:
        """Count the words of a text."""
        self._counts.update(word.lower() for word in words if word)

    def of(self, word: str) -> float:
        """How frequent a word is; only comparisons have a meaning."""
        return float(self._counts[word.lower()])

    @cached_property
    def frequent(self) -> frozenset[str]:
        """The most frequent words (ties in alphabetical order)."""
        ranked = nsmallest(FREQUENT, self._counts.items(), key=lambda item: (-item[1], item[0]))
        return frozenset(word for word, _ in ranked)


class LanguageFrequencies(Frequencies):
    """Frequencies in a language at large, from the package wordfreq; the corpus is not counted."""

    def __init__(self, language: str) -> None:
        super().__init__()
        try:
            import wordfreq
        except ImportError:
            how = "pip install 'headscope[wordfreq]'"
            raise HeadscopeError(f"word frequencies of a language need wordfreq: {how}") from None
        if language not in wordfreq.available_languages():
            known = ", ".join(sorted(wordfreq.available_languages()))
            raise HeadscopeError(f"wordfreq has no language {language!r}; it has {known}")
        self._wordfreq, self._language = wordfreq, language

    def count(self, words: Iterable[str]) -> None:
        """Nothing to count."""

    def of(self, word: str) -> float:
        """Occurrences per billion words, on a logarithmic scale."""
        return float(self._wordfreq.zipf_frequency(word, self._language))

    @cached_property
    def frequent(self) -> frozenset[str]:
        """The most frequent words of the language."""
        return frozenset(self._wordfreq.top_n_list(self._language, FREQUENT))


def frequencies_from(source: str) -> Frequencies:
    """`corpus`, or `wordfreq:LANGUAGE`.

    >>> frequencies_from("corpus").of("cat")
    0.0
    """
    kind, _, language = source.partition(":")
    if kind == "corpus" and not language:
        return Frequencies()
    if kind == "wordfreq" and language:
        return LanguageFrequencies(language)
    raise HeadscopeError(f"frequencies come from 'corpus' or 'wordfreq:LANGUAGE', not {source!r}")
