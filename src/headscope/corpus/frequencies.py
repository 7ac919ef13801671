"""Word frequencies: in the corpus itself, or in a language at large (wordfreq)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from heapq import nsmallest

from headscope.errors import HeadscopeError

FREQUENT = 500
"""Voita et al. skip texts whose rarest word is among this many most frequent words."""


class Frequencies:
    """Word frequencies of the corpus, ignoring case.

    >>> frequencies = Frequencies()
    >>> frequencies.count(["The", "cat", "the"])
    >>> frequencies.of("THE"), frequencies.of("dog")
    (2.0, 0.0)
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, words: Iterable[str]) -> None:
        """Count the words of a text."""
        self._counts.update(word.lower() for word in words if word)

    def of(self, word: str) -> float:
        """The frequency of a word, on a scale that is only good for comparisons."""
        return float(self._counts[word.lower()])

    @cached_property
    def frequent(self) -> frozenset[str]:
        """The most frequent words (ties in alphabetical order)."""
        ranked = nsmallest(FREQUENT, self._counts.items(), key=lambda item: (-item[1], item[0]))
        return frozenset(word for word, _ in ranked)


class LanguageFrequencies(Frequencies):
    """Word frequencies of a language from the package wordfreq, whatever the corpus."""

    def __init__(self, language: str) -> None:
        super().__init__()
        try:
            import wordfreq
        except ImportError:
            raise HeadscopeError(
                "the word frequencies of a language need the package wordfreq: "
                "pip install 'headscope[wordfreq]'"
            ) from None
        if language not in wordfreq.available_languages():
            languages = ", ".join(sorted(wordfreq.available_languages()))
            raise HeadscopeError(f"wordfreq has no language {language!r}; it has {languages}")
        self._wordfreq, self._language = wordfreq, language

    def count(self, words: Iterable[str]) -> None:
        """Do nothing: the corpus does not matter."""

    def of(self, word: str) -> float:
        """Occurrences per billion words, on a logarithmic scale."""
        return float(self._wordfreq.zipf_frequency(word, self._language))

    @cached_property
    def frequent(self) -> frozenset[str]:
        """The most frequent words of the language."""
        return frozenset(self._wordfreq.top_n_list(self._language, FREQUENT))


def frequencies_from(source: str) -> Frequencies:
    """Frequencies from a source: `corpus` (counted as it is read) or `wordfreq:LANGUAGE`.

    >>> frequencies_from("corpus").of("cat")
    0.0
    """
    kind, _, language = source.partition(":")
    if kind == "corpus" and not language:
        return Frequencies()
    if kind == "wordfreq" and language:
        return LanguageFrequencies(language)
    raise HeadscopeError(
        f"word frequencies come from 'corpus' or 'wordfreq:LANGUAGE', not {source!r}"
    )
