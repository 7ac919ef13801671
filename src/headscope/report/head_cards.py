"""A card per head: its roles in words with the evidence for them, and what all runs of the same
model say of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from headscope.report.catalogue import load_sections, role_rules
from headscope.report.head_roles import HeadRole
from headscope.report.sections import Place, card_lines
from headscope.report.views import CorpusView
from headscope.runs import RunResults

STRIKING = 10
"""Cards that are laid out; the others open with a click."""


@dataclass
class Card:
    """What is known of a head.

    Attributes:
        name: as a head is written.
        roles: their names.
        does: sentences on what it does; elsewhere: on what all runs say of it.
    """

    place: Place
    name: str
    roles: list[str] = field(default_factory=list)
    does: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The head and what it is."""
        return f"{self.name}: {', '.join(self.roles) or 'no role known'}"

    @property
    def further(self) -> list[str]:
        """What runs other than the scan say, a sentence each."""
        return [f"{text[0].upper()}{text[1:]}." for text in self.elsewhere]

    @property
    def lines(self) -> list[str]:
        """All that is known, a sentence each."""
        return [f"{text[0].upper()}{text[1:]}." for text in (*self.does, *self.elsewhere)]


def head_cards(view: CorpusView, results: list[RunResults]) -> dict[str, Card]:
    """The cards of all heads of a view, by name."""
    load_sections()
    cards = {
        (layer, head): Card((layer, head), view.name((layer, head)))
        for layer, heads in enumerate(view.head_counts)
        for head in range(heads)
    }
    for role in view.roles:
        card = cards[role.place]
        if role.rule.name not in card.roles:
            card.roles.append(role.rule.name)
    for place, sentences in _sentences(view.roles).items():
        cards[place].does += sentences
    for lines in card_lines.functions:
        for place, sentence in lines(view, runs_of(view, results)):
            cards[place].elsewhere.append(sentence)
    return {card.name: card for card in cards.values()}


def runs_of(view: CorpusView, results: list[RunResults]) -> list[RunResults]:
    """The runs that say something of the heads of a view: those of the same model."""
    if view.weights == "random":
        return []
    return [run.of(view.attention) for run in results if run.record.study.is_of(view.model)]


def striking_cards(view: CorpusView, cards: dict[str, Card]) -> list[Card]:
    """The cards of the most specialised heads: of each role the clearest head, the more telling
    roles first, then of each the next.
    """
    by_rule: dict[str, list[HeadRole]] = defaultdict(list)
    for role in view.roles:
        if all(role.place != other.place for other in by_rule[role.rule.name]):
            by_rule[role.rule.name].append(role)
    chosen: list[str] = []
    for turn in range(max((len(roles) for roles in by_rule.values()), default=0)):
        for _, rule in role_rules():
            if turn < len(by_rule[rule.name]):
                name = by_rule[rule.name][turn].row.name
                chosen += [] if name in chosen else [name]
    return [cards[name] for name in chosen[:STRIKING]]


def _sentences(roles: list[HeadRole]) -> dict[Place, list[str]]:
    """By head, a sentence a role; of a role that it has several times, the clearest and how many
    more.
    """
    by_head: dict[tuple[Place, str], list[HeadRole]] = defaultdict(list)
    for role in roles:
        by_head[role.place, role.rule.name].append(role)
    sentences: dict[Place, list[str]] = defaultdict(list)
    for (place, _), same in by_head.items():
        more = ", ".join(role.what for role in same[1:4])
        rest = f" and {len(same) - 4} more" if len(same) > 4 else ""
        sentences[place].append(same[0].sentence + (f"; also {more}{rest}" if more else ""))
    return sentences
