"""Mentions for coreference: head word, type, agreement, and the baselines of Clark et al. 2019."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.corpus.example import NO_TREE, Example, Mention

MENTION_TYPES = ("pronoun", "proper", "nominal")

MASCULINE = "he him his himself"
FEMININE = "she her hers herself"
NEUTER = "it its itself"
PLURAL = "they them their theirs themselves"
PRONOUNS: dict[str, dict[str, str]] = {
    word: {"number": number, "gender": gender, "person": person}
    for words, number, gender, person in (
        ("i me my mine myself", "sing", "?", "1"),
        ("we us our ours ourselves", "plur", "?", "1"),
        ("you your yours yourself yourselves", "?", "?", "2"),
        (MASCULINE, "sing", "masc", "3"),
        (FEMININE, "sing", "fem", "3"),
        (NEUTER, "sing", "neut", "3"),
        (PLURAL, "?", "?", "3"),  # also singular they
        ("this that", "sing", "neut", "3"),
        ("these those", "plur", "?", "3"),
    )
    for word in words.split()
}
MEN = """
mr. mr sir lord king prince duke man men boy boys guy gentleman father dad son brother uncle nephew
grandfather husband boyfriend actor waiter widower monk priest
"""
WOMEN = """
mrs. mrs ms. ms miss lady queen princess duchess woman women girl girls mother mum mom daughter
sister aunt niece grandmother wife girlfriend actress waitress widow nun
"""
NUMBERS = {"Sing": "sing", "Plur": "plur", "Dual": "plur"}
GENDERS = {"Masc": "masc", "Fem": "fem", "Neut": "neut"}


@dataclass(frozen=True)
class CoreferenceMention:
    """A mention with what coreference resolution needs to know about it.

    Attributes:
        head: position of its head word.
        chain: the chain (entity) that it belongs to.
        kind: one of `MENTION_TYPES`.
        text, word: the whole mention and its head word, in lower case.
        number, gender, person: from the annotation or from word lists; `?` agrees with anything.
    """

    head: int
    chain: str
    kind: str
    text: str
    word: str
    number: str
    gender: str
    person: str

    def agrees(self, other: CoreferenceMention) -> bool:
        """Whether number, gender and person are compatible."""
        pairs = (
            (self.number, other.number),
            (self.gender, other.gender),
            (self.person, other.person),
        )
        return all(own == others or "?" in (own, others) for own, others in pairs)


def coreference_mentions(example: Example) -> list[CoreferenceMention]:
    """The mentions of a text in the order of their head words.

    Of several mentions with the same head word only the longest is kept.
    """
    longest: dict[int, Mention] = {}
    for mention in example.mentions:
        head = head_word(example, mention)
        rival = longest.get(head)
        if rival is None or mention.end - mention.start > rival.end - rival.start:
            longest[head] = mention
    return [_describe(example, mention, head) for head, mention in sorted(longest.items())]


def head_word(example: Example, mention: Mention) -> int:
    """The word whose syntactic head lies outside the mention; without a tree, the last word.

    >>> tree = Example("1", words=("the", "cat", "next", "door"), heads=(1, -1, 1, 2))
    >>> head_word(tree, Mention(0, 4, "1")), head_word(Example("2"), Mention(0, 4, "1"))
    (1, 3)
    """
    for word in range(mention.start, mention.end) if example.heads else ():
        head = example.heads[word]
        if head != NO_TREE and not mention.start <= head < mention.end:
            return word
    return mention.end - 1


def _describe(example: Example, mention: Mention, head: int) -> CoreferenceMention:
    words = [word.lower() for word in example.words[mention.start : mention.end]]
    kind = _kind(example, mention, head)
    features = _features(example, head)
    listed = PRONOUNS.get(words[0], {}) if len(words) == 1 else {}
    return CoreferenceMention(
        head=head,
        chain=mention.chain,
        kind=kind,
        text=" ".join(words),
        word=example.words[head].lower(),
        number=listed.get("number") or features.get("number") or _number(example, head),
        gender=listed.get("gender") or features.get("gender") or _gender(words),
        person=listed.get("person")
        or features.get("person")
        or ("?" if kind == "pronoun" else "3"),
    )


def _kind(example: Example, mention: Mention, head: int) -> str:
    """The type of a mention: by the tag of its head word, or else by its form."""
    if example.upos and example.upos[head] != "_":
        return {"PRON": "pronoun", "PROPN": "proper"}.get(example.upos[head], "nominal")
    if example.xpos and example.xpos[head] != "_":
        tag = example.xpos[head]
        return "pronoun" if tag.startswith("PRP") else "proper" if tag[:3] == "NNP" else "nominal"
    if mention.end - mention.start == 1 and example.words[head].lower() in PRONOUNS:
        return "pronoun"
    return "proper" if example.words[head][:1].isupper() else "nominal"


def _features(example: Example, head: int) -> dict[str, str]:
    """Number, gender and person of the head word in its Universal Dependencies features."""
    if not example.features:
        return {}
    pairs = dict(part.split("=", 1) for part in example.features[head].split("|") if "=" in part)
    features = {
        "number": NUMBERS.get(pairs.get("Number", ""), ""),
        "gender": GENDERS.get(pairs.get("Gender", ""), ""),
        "person": pairs.get("Person", ""),
    }
    return {key: value for key, value in features.items() if value}


def _number(example: Example, head: int) -> str:
    tag = example.xpos[head] if example.xpos else ""
    return {"NN": "sing", "NNP": "sing", "NNS": "plur", "NNPS": "plur"}.get(tag, "?")


def _gender(words: Sequence[str]) -> str:
    if set(words) & set(MEN.split()):
        return "masc"
    return "fem" if set(words) & set(WOMEN.split()) else "?"


def nearest(_mention: CoreferenceMention, earlier: Sequence[CoreferenceMention]) -> int:
    """The index of the candidate closest before the mention (candidates in text order)."""
    return len(earlier) - 1


def head_match(mention: CoreferenceMention, earlier: Sequence[CoreferenceMention]) -> int:
    """The nearest candidate with the same head word, or else the nearest."""
    return _last([candidate.word == mention.word for candidate in earlier])


def sieve(mention: CoreferenceMention, earlier: Sequence[CoreferenceMention]) -> int:
    """Full string match, then head-word match, then agreement in number, gender and person.

    The nearest candidate that passes the first successful test; if none does, the nearest.

    >>> shared = dict(chain="1", kind="nominal", gender="?", person="3")
    >>> cat = CoreferenceMention(0, text="the cat", word="cat", number="sing", **shared)
    >>> dogs = CoreferenceMention(3, text="dogs", word="dogs", number="plur", **shared)
    >>> it = CoreferenceMention(5, text="it", word="it", number="sing", **shared)
    >>> sieve(it, [cat, dogs])
    0
    """
    for passes in (
        [candidate.text == mention.text for candidate in earlier],
        [candidate.word == mention.word for candidate in earlier],
        [candidate.agrees(mention) for candidate in earlier],
    ):
        if any(passes):
            return _last(passes)
    return nearest(mention, earlier)


def _last(passes: Sequence[bool]) -> int:
    """The last index that passes; without any, the last index."""
    indices = reversed(range(len(passes)))
    return next((index for index in indices if passes[index]), len(passes) - 1)


BASELINES = {"nearest": nearest, "head_match": head_match, "sieve": sieve}
"""Baselines by name; each selects the antecedent among the earlier mentions."""
