"""Syntactic dependencies as links between words."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpus.example import Example, Link

NO_TARGET = -1
"""The target of a root, which has no head among the words."""
UNSCORED_RELATIONS = frozenset({"punct", "root"})
"""Relations that are left out of the unlabelled attachment score."""
RELATION_WORDS = {
    "acl": "clauses of nouns",
    "acl:relcl": "relative clauses",
    "advcl": "adverbial clauses",
    "advmod": "adverbs",
    "amod": "adjectives",
    "appos": "appositions",
    "aux": "auxiliaries",
    "aux:pass": "passive auxiliaries",
    "auxpass": "passive auxiliaries",
    "case": "prepositions",
    "cc": "conjunctions",
    "ccomp": "clauses that are objects",
    "compound": "parts of compounds",
    "compound:prt": "verbs' particles",
    "conj": "joined words",
    "cop": "copulas",
    "csubj": "clauses that are subjects",
    "det": "determiners",
    "discourse": "discourse particles",
    "dobj": "objects",
    "expl": "expletives",
    "fixed": "parts of fixed phrases",
    "flat": "parts of names",
    "iobj": "indirect objects",
    "mark": "subordinating conjunctions",
    "neg": "negations",
    "nmod": "modifying nouns",
    "nmod:poss": "possessors",
    "nn": "noun compounds",
    "nsubj": "subjects",
    "nsubj:pass": "passive subjects",
    "nsubjpass": "passive subjects",
    "num": "numerals",
    "nummod": "numerals",
    "obj": "objects",
    "obl": "oblique nouns",
    "parataxis": "loosely joined clauses",
    "partmod": "participles",
    "pcomp": "clauses after prepositions",
    "pobj": "objects of prepositions",
    "poss": "possessors",
    "possessive": "possessive markers",
    "prep": "prepositions",
    "prt": "verbs' particles",
    "rcmod": "relative clauses",
    "vocative": "vocatives",
    "xcomp": "open clauses",
}
"""Relations of Universal and of Stanford Dependencies in plain words."""
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
