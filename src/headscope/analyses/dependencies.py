"""Dependency relations: heads that find syntactic heads (Clark et al. 2019, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headscope.analyses._linking.facts import LinkingOptions
from headscope.analyses._linking.linking import Linking
from headscope.analyses._linking.offsets import best_fixed
from headscope.analyses.base import analysis, option
from headscope.corpus import Annotation, Example, Link
from headscope.corpus.relations import (
    RELATION_WORDS,
    UNSCORED_RELATIONS,
    dependency_links,
    without_subtype,
)
from headscope.evidence import Statistic, Tally, Unit, crossfit
from headscope.evidence.role_rule import ANY, VOITA, RoleKind, RoleRule

ALL = "all"


DIRECTION_WORDS = {
    "row": "the dependent looking at its head",
    "column": "its head looking at the dependent more than others do",
    "head-row": "the head looking at a dependent",
}
TITLES = {
    "row": "leads {group} to the word they depend on",
    "column": "draws the heads of {group} to them",
    "head-row": "leads words to their {group}",
}


@dataclass(frozen=True)
class DependencyOptions(LinkingOptions):
    """Choices that Clark's paper and code make differently."""

    possessive: bool = option(False, "Before 's, score the prediction of the 's for poss.")
    all_words: bool = option(False, "Count punctuation and roots among all words.")


@analysis("dependencies")
class Dependencies(Linking):
    """How often a head's largest weight joins a word to its syntactic head, relation by relation.
    The baseline is the best fixed offset of the relation: what position alone can do.

    Over words, specials and the word itself left out. Row: whom the dependent looks at; column:
    who looks at the dependent; head-row: whether the syntactic head looks at one of its
    dependents of that relation, asked once of every word that has any. A relation includes its
    subtypes. All: every word but punctuation and roots, which is the unlabelled attachment score;
    in head-row all questions of all relations, of which a head can answer one for every word. The
    test compares with what the head's choices would score if relations kept their offsets but not
    their places; a head 10 points above the best fixed offset is called syntactic (Voita and
    others).
    """

    options_type = DependencyOptions
    page = "headscope.analyses._linking.section"
    roles = (
        RoleRule(
            "syntactic",
            "joins the words of {group}, {direction}, {value} better than the best fixed offset",
            "gain",
            0.10,
            VOITA,
            rank=10,
            direction=ANY,
            confirmed_by="accuracy",
            excluded=("all", "punct"),
            unit=Unit.POINTS,
            directions=DIRECTION_WORDS,
            kind=RoleKind.SYNTAX,
            titles=TITLES,
            group_words=RELATION_WORDS,
            mark="syntax",
        ),
    )
    annotation = Annotation.TREES

    @staticmethod
    def links(example: Example, options: DependencyOptions) -> Iterator[Link]:
        return dependency_links(example, possessive=options.possessive, all_words=options.all_words)

    @cached_property
    def pooled(self) -> dict[str, list[str]]:
        counts, labels = self.facts.counts, list(self.labels)
        groups = {
            ALL: [one for one in labels if self.options.all_words or one not in UNSCORED_RELATIONS]
        }
        for name in {without_subtype(label) for label in labels} | set(labels):
            groups[name] = [one for one in labels if name in (one, without_subtype(one))]
        groups.pop("root", None)
        size = {name: sum(counts[one] for one in members) for name, members in groups.items()}
        ranked = sorted(groups, key=lambda name: (name != ALL, -size[name], name))
        return {name: groups[name] for name in ranked}

    def statistics(self) -> Iterator[Statistic]:
        yield from super().statistics()
        yield self._attachment()

    def _attachment(self) -> Statistic:
        """Unlabelled attachment where every relation has its own best head, or offset."""
        labels = list(self.labels)
        counted = [self.options.all_words or label not in UNSCORED_RELATIONS for label in labels]
        wide = self.hits.tally.sums.reshape(self.layout.buckets, -1, self.hits.tally.sums.shape[-1])
        size = len(labels)
        heads = np.concatenate([wide[..., :size], wide[..., size : 2 * size]], 1)
        cases = np.broadcast_to(self.hits.tally.counts[:, 0, :, :size], heads.shape)
        fixed, _ = self.facts.centres[0].fixed_hits(size)
        best = [
            crossfit(heads, heads, cases)[:, counted].sum(1),
            best_fixed(fixed)[:, counted].sum(1),
        ]
        count = cases[:, 0, counted].sum(1)
        return Statistic(
            "attachment",
            Tally.of(
                np.stack(best, -1)[:, None, None], np.stack([count, count], -1)[:, None, None]
            ),
            None,
            Unit.SHARE,
            "unlabelled attachment score where every relation has its own best head, or offset",
            ("best head per relation", "best offset per relation"),
        )
