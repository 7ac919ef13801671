"""Any links: words that a user has linked, whatever the links mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from headscope.analyses._linking.facts import LinkingOptions
from headscope.analyses._linking.linking import Linking
from headscope.analyses.base import analysis
from headscope.corpus import Annotation, Example, Link
from headscope.evidence import Unit
from headscope.evidence.role_rule import ANY, VOITA, RoleRule

TITLES = {
    "row": "leads words to those they are linked to ({group})",
    "column": "draws words to those that are linked to them ({group})",
    "head-row": "leads words back to those that are linked to them ({group})",
}


@analysis("links")
class Links(Linking):
    """How often a head's largest weight joins two words that the corpus links, label by label:
    aligned words, arguments, mapped atoms. The baseline is the best fixed offset of the label.

    Over words, specials and the word itself left out. Row: whom the source looks at; column: who
    looks at the source; head-row: whether the target looks at one of its sources, asked once of a
    target for each label. The test compares with what the head's choices would score if links kept
    their offsets but not their places.
    """

    page = "headscope.analyses._linking.section"
    roles = (
        RoleRule(
            "linking",
            "joins linked words ({group}, {direction}) {value} better than the best offset",
            "gain",
            0.10,
            VOITA,
            rank=20,
            direction=ANY,
            confirmed_by="accuracy",
            excluded=("all",),
            unit=Unit.POINTS,
            titles=TITLES,
            mark="link",
        ),
    )

    annotation = Annotation.LINKS

    @staticmethod
    def links(example: Example, options: LinkingOptions) -> Iterator[Link]:
        yield from example.links

    @cached_property
    def pooled(self) -> dict[str, list[str]]:
        labels = list(self.labels)
        return {"all": labels} | {label: [label] for label in labels if label != "all"}
