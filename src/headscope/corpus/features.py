"""Linguistic features of words, by Universal Dependencies' tags or by the Penn Treebank's.

Tags and relations come from the annotation and are matched by position, never by string; only
negation is a list of words, matched as whole words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from headscope.corpus.example import Example
from headscope.corpus.relations import universal
from headscope.corpus.rules import Rules

T = TypeVar("T")

ENGLISH_NEGATIONS = """
no not n't n’t nt never none nobody nothing nowhere neither nor cannot without
"""
NOUNS = frozenset({"NOUN", "PROPN"}), frozenset({"NN", "NNS", "NNP", "NNPS"})
PRONOUNS = frozenset({"PRON"}), frozenset({"PRP", "PRP$"})
VERBS = frozenset({"VERB", "AUX"}), frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "agent", "expl"})
OBJECTS = frozenset({"obj", "dobj", "iobj", "dative", "attr", "oprd"})
FEATURES = ("noun", "pronoun", "verb", "subject", "object", "negation")


def features(example: Example, rules: Rules) -> dict[str, list[int]]:
    """Positions of the words that have each feature; a feature nobody annotated is empty.

    >>> example = Example("1", words=("She", "never", "slept"), upos=("PRON", "ADV", "VERB"))
    >>> {name: words for name, words in features(example, Rules()).items() if words}
    {'pronoun': [0], 'verb': [2], 'negation': [1]}
    """
    relations = [universal(relation) for relation in example.relations]
    return {
        "noun": tagged(example, NOUNS),
        "pronoun": tagged(example, PRONOUNS),
        "verb": tagged(example, VERBS),
        "subject": _where(relations, SUBJECTS.__contains__),
        "object": _where(relations, OBJECTS.__contains__),
        "negation": _negations(example, rules),
    }


def tagged(example: Example, sets: tuple[frozenset[str], frozenset[str]]) -> list[int]:
    """Positions of words with a tag of the set: universal tags where there are any, else Penn's."""
    universal_tags, penn = sets
    if example.upos:
        return _where(example.upos, universal_tags.__contains__)
    return _where(example.xpos, penn.__contains__)


def _negations(example: Example, rules: Rules) -> list[int]:
    """Whole words of the list, and words that Universal Dependencies marks as negative."""
    listed = frozenset(rules.negations or ENGLISH_NEGATIONS.split())
    found = set(_where([word.lower() for word in example.words], listed.__contains__))
    marked = [one.split("|") for one in example.features]
    return sorted(found | set(_where(marked, lambda parts: "Polarity=Neg" in parts)))


def _where(values: Sequence[T], holds: Callable[[T], bool]) -> list[int]:
    return [place for place, value in enumerate(values) if holds(value)]
