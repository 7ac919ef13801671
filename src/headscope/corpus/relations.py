"""Syntactic dependencies as links between words."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpus.example import Example, Link

NO_TARGET = -1
"""The target of a root, which has no head among the words."""
UNSCORED_RELATIONS = frozenset({"punct", "root"})
"""Relations that are left out of the unlabelled attachment score."""
POSSESSIVE = frozenset({"'s", "s'", "’s", "s’"})


def dependency_links(
    example: Example, *, possessive: bool = False, all_words: bool = False
) -> Iterator[Link]:
    """Links from every word to its syntactic head, labelled with the relation.

    Args:
        possessive: for `poss` before `'s`, score the prediction of the `'s` (as Clark's code does).
        all_words: include roots, which have no head among the words.

    >>> example = Example("1", words=("Cats", "sleep"), heads=(1, -1), relations=("nsubj", "root"))
    >>> list(dependency_links(example))
    [Link(source=0, target=1, label='nsubj')]
    """
    following = (*example.words[1:], "")
    for word, (head, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
        if head >= 0:
            shifted = possessive and relation == "poss" and following[word] in POSSESSIVE
            yield Link(word + shifted, head, relation)
        elif all_words:
            yield Link(word, NO_TARGET, "root")


def without_subtype(relation: str) -> str:
    """A relation of Universal Dependencies without its subtype.

    >>> without_subtype("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]
