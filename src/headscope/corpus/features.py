"""Linguistic features of words, by Universal Dependencies' tags or by the Penn Treebank's.

Tags and relations come from the annotation and are matched by position, never by string; only
negation is a list of words, matched as whole words.
"""

from __future__ import annotations

from collections.abc import Sequence

from headscope.corpus.example import Example
from headscope.corpus.relations import universal

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
"""Reflexives and other clitics, which only look like expletive subjects."""
FEATURES = ("noun", "pronoun", "verb", "subject", "object", "negation")


def features(
    example: Example, words: Sequence[str] | None = None, negations: Sequence[str] = ()
) -> dict[str, list[int]]:
    """Positions of the words that have each feature; a feature nobody annotated is empty.

    Args:
        words: those of the text where the corpus has not split it, and those of both of a pair.
        negations: negating words instead of the English ones.

    >>> example = Example("1", words=("She", "never", "slept"), upos=("PRON", "ADV", "VERB"))
    >>> {name: words for name, words in features(example).items() if words}
    {'pronoun': [0], 'verb': [2], 'negation': [1]}
    """
    found: dict[str, list[int]] = {name: [] for name in FEATURES}
    tags, names = (example.upos, UNIVERSAL) if example.upos else (example.xpos, PENN)
    for word, tag in enumerate(tags):
        if tag in names:
            found[names[tag]].append(word)
    for word, relation in enumerate(example.relations):
        name = RELATIONS.get(relation) or RELATIONS.get(universal(relation))
        if name and relation not in NO_SUBJECTS:
            found[name].append(word)
    found["negation"] = _negations(example, example.words if words is None else words, negations)
    return found


def _negations(example: Example, words: Sequence[str], negations: Sequence[str]) -> list[int]:
    """Whole words of the list, and words that Universal Dependencies marks as negative."""
    listed = frozenset(negations or ENGLISH_NEGATIONS.split())
    found = {word for word, text in enumerate(words) if text.lower() in listed}
    marked = {word for word, one in enumerate(example.features) if "Polarity=Neg" in one}
    return sorted(found | marked)
