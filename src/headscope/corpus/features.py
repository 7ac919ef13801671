"""Linguistic features of words, from Universal Dependencies or Penn Treebank annotation.

Parts of speech and relations come from the annotation; only negation is also recognised by a
list of words, compared with whole words.
"""

from __future__ import annotations

from collections.abc import Sequence

from headscope.corpus.example import Example
from headscope.corpus.relations import without_subtype

ENGLISH_NEGATIONS = """
no not n't n’t nt never none nobody nothing nowhere neither nor cannot without
"""
UNIVERSAL = {"NOUN": "noun", "PROPN": "noun", "PRON": "pronoun", "VERB": "verb", "AUX": "verb"}
PENN = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS"), "noun"),
    **dict.fromkeys(("PRP", "PRP$"), "pronoun"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "verb"),
}
RELATIONS = {
    **dict.fromkeys(("nsubj", "nsubjpass", "csubj", "csubjpass", "agent", "expl"), "subject"),
    **dict.fromkeys(("obj", "dobj", "iobj", "dative", "attr", "oprd"), "object"),
}
NO_SUBJECTS = frozenset({"expl:pv", "expl:pass", "expl:impers", "expl:comp"})
"""Reflexives and other clitics, which are not expletive subjects."""
FEATURES = ("noun", "pronoun", "verb", "subject", "object", "negation")


def word_features(
    example: Example, words: Sequence[str] | None = None, negations: Sequence[str] = ()
) -> dict[str, list[int]]:
    """Positions of the words with each feature; empty for features that are not annotated.

    Args:
        words: the words of the text or of both texts of a pair, if not `example.words`.
        negations: negating words in place of the English ones.

    >>> example = Example("1", words=("She", "never", "slept"), upos=("PRON", "ADV", "VERB"))
    >>> {name: words for name, words in word_features(example).items() if words}
    {'pronoun': [0], 'verb': [2], 'negation': [1]}
    """
    positions: dict[str, list[int]] = {name: [] for name in FEATURES}
    tags, names = (example.upos, UNIVERSAL) if example.upos else (example.xpos, PENN)
    for word, tag in enumerate(tags):
        if tag in names:
            positions[names[tag]].append(word)
    for word, relation in enumerate(example.relations):
        name = RELATIONS.get(relation) or RELATIONS.get(without_subtype(relation))
        if name and relation not in NO_SUBJECTS:
            positions[name].append(word)
    words = example.words if words is None else words
    positions["negation"] = _negations(example, words, negations)
    return positions


def _negations(example: Example, words: Sequence[str], negations: Sequence[str]) -> list[int]:
    """Words of the list, and words that Universal Dependencies marks as negative."""
    negating = frozenset(negations or ENGLISH_NEGATIONS.split())
    listed = {word for word, text in enumerate(words) if text.lower() in negating}
    marked = {word for word, cell in enumerate(example.features) if "Polarity=Neg" in cell}
    return sorted(listed | marked)
