"""Mentions: head word, type, agreement, and the three baselines of Clark et al. 2019."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.corpus.example import NO_TREE, Example, Mention

TYPES = ("pronoun", "proper", "nominal")

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
NAMED_NUMBER = {"Sing": "sing", "Plur": "plur", "Dual": "plur"}
NAMED_GENDER = {"Masc": "masc", "Fem": "fem", "Neut": "neut"}


@dataclass(frozen=True)
class Entity:
    """A mention as the analysis sees it.

    Attributes:
        head: position of its head word.
        chain: what it refers to.
        kind: `pronoun`, `proper` or `nominal`.
        text, word: the whole mention and its head word, in lower case.
        number, gender, person: as far as annotation or word lists tell; `?` agrees with all.
    """

    head: int
    chain: str
    kind: str
    text: str
    word: str
    number: str
    gender: str
    person: str

    def agrees(self, other: Entity) -> bool:
        """Whether nothing that is known of the two contradicts."""
        pairs = (
            (self.number, other.number),
            (self.gender, other.gender),
            (self.person, other.person),
        )
        return all(one == two or "?" in (one, two) for one, two in pairs)


def entities(example: Example) -> list[Entity]:
    """The mentions of a text in the order of their head words; one for each head word.

    Of several mentions with the same head word the longest stands for all.
    """
    chosen: dict[int, Mention] = {}
    for mention in example.mentions:
        head = head_word(example, mention)
        known = chosen.get(head)
        if known is None or mention.end - mention.start > known.end - known.start:
            chosen[head] = mention
    return [_entity(example, mention, head) for head, mention in sorted(chosen.items())]


def head_word(example: Example, mention: Mention) -> int:
    """The word whose syntactic head lies outside the mention; the last one without a tree.

    >>> tree = Example("1", words=("the", "cat", "next", "door"), heads=(1, -1, 1, 2))
    >>> head_word(tree, Mention(0, 4, "1")), head_word(Example("2"), Mention(0, 4, "1"))
    (1, 3)
    """
    for word in range(mention.start, mention.end) if example.heads else ():
        head = example.heads[word]
        if head != NO_TREE and not mention.start <= head < mention.end:
            return word
    return mention.end - 1


def _entity(example: Example, mention: Mention, head: int) -> Entity:
    words = [word.lower() for word in example.words[mention.start : mention.end]]
    kind = _kind(example, mention, head)
    facts = _facts(example, head)
    listed = PRONOUNS.get(words[0], {}) if len(words) == 1 else {}
    number = listed.get("number") or facts.get("number") or _number(example, head)
    gender = listed.get("gender") or facts.get("gender") or _gender(words)
    person = listed.get("person") or facts.get("person") or ("?" if kind == "pronoun" else "3")
    return Entity(
        head, mention.chain, kind, " ".join(words), example.words[head].lower(),
        number, gender, person,
    )  # fmt: skip


def _kind(example: Example, mention: Mention, head: int) -> str:
    """Pronoun, proper or nominal: by the tag of the head word, else by its form."""
    if example.upos and example.upos[head] != "_":
        return {"PRON": "pronoun", "PROPN": "proper"}.get(example.upos[head], "nominal")
    if example.xpos and example.xpos[head] != "_":
        tag = example.xpos[head]
        return "pronoun" if tag.startswith("PRP") else "proper" if tag[:3] == "NNP" else "nominal"
    if mention.end - mention.start == 1 and example.words[head].lower() in PRONOUNS:
        return "pronoun"
    return "proper" if example.words[head][:1].isupper() else "nominal"


def _facts(example: Example, head: int) -> dict[str, str]:
    """What Universal Dependencies' features say of the head word."""
    if not example.features:
        return {}
    pairs = dict(part.split("=", 1) for part in example.features[head].split("|") if "=" in part)
    named = {
        "number": NAMED_NUMBER.get(pairs.get("Number", ""), ""),
        "gender": NAMED_GENDER.get(pairs.get("Gender", ""), ""),
        "person": pairs.get("Person", ""),
    }
    return {key: value for key, value in named.items() if value}


def _number(example: Example, head: int) -> str:
    tag = example.xpos[head] if example.xpos else ""
    return {"NN": "sing", "NNP": "sing", "NNS": "plur", "NNPS": "plur"}.get(tag, "?")


def _gender(words: Sequence[str]) -> str:
    if set(words) & set(MEN.split()):
        return "masc"
    return "fem" if set(words) & set(WOMEN.split()) else "?"


def nearest(_mention: Entity, earlier: Sequence[Entity]) -> int:
    """The candidate just before the mention (candidates in the order of the text)."""
    return len(earlier) - 1


def head_match(mention: Entity, earlier: Sequence[Entity]) -> int:
    """The nearest candidate with the same head word, else the nearest."""
    return _last([one.word == mention.word for one in earlier])


def sieve(mention: Entity, earlier: Sequence[Entity]) -> int:
    """Full string match, then head-word match, then agreement in number, gender and person.

    Of several the nearest; where nothing holds, the nearest of all.

    >>> made = dict(chain="1", kind="nominal", gender="?", person="3")
    >>> cat = Entity(0, text="the cat", word="cat", number="sing", **made)
    >>> dogs = Entity(3, text="dogs", word="dogs", number="plur", **made)
    >>> it = Entity(5, text="it", word="it", number="sing", **made)
    >>> sieve(it, [cat, dogs])
    0
    """
    for passes in (
        [one.text == mention.text for one in earlier],
        [one.word == mention.word for one in earlier],
        [one.agrees(mention) for one in earlier],
    ):
        if any(passes):
            return _last(passes)
    return nearest(mention, earlier)


def _last(passes: Sequence[bool]) -> int:
    return next((place for place in reversed(range(len(passes))) if passes[place]), len(passes) - 1)


BASELINES = {"nearest": nearest, "head_match": head_match, "sieve": sieve}
"""Each chooses one of the earlier mentions."""
