"""Links between words that a corpus annotates: dependencies, and links that a user brings."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpus.example import Example, Link

NOWHERE = -1
"""The target of a root."""
NOT_COUNTED = frozenset({"punct", "root"})
"""Relations that are no part of an unlabelled attachment score."""
POSSESSIVE = frozenset({"'s", "s'", "’s", "s’"})


def dependencies(
    example: Example, *, possessive: bool = False, all_words: bool = False
) -> Iterator[Link]:
    """From every word to its syntactic head, labelled with the relation.

    Args:
        possessive: before `'s`, score the prediction of the `'s` for `poss` (Clark's code).
        all_words: include roots, which have no head among the words.

    >>> example = Example("1", words=("Cats", "sleep"), heads=(1, -1), relations=("nsubj", "root"))
    >>> [(link.source, link.target, link.label) for link in dependencies(example)]
    [(0, 1, 'nsubj')]
    """
    following = (*example.words[1:], "")
    for word, (head, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
        if head >= 0:
            shifted = possessive and relation == "poss" and following[word] in POSSESSIVE
            yield Link(word + shifted, head, relation)
        elif all_words:
            yield Link(word, NOWHERE, "root")


def universal(relation: str) -> str:
    """A relation without its subtype.

    >>> universal("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]
