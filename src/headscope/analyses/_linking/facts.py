"""What is counted of a corpus's links before a model reads it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headscope.analyses._linking.offsets import Offsets
from headscope.analyses._linking.questions import ask
from headscope.analyses.base import option
from headscope.corpus import Conventions, Pieces, bucket_of

if TYPE_CHECKING:
    from headscope.analyses._linking.linking import Linking


@dataclass(frozen=True)
class LinkingOptions:
    """How the baseline of fixed offsets is scored."""

    clip_offsets: bool = option(False, "A fixed offset outside the text guesses the text's edge.")


class LinkFacts:
    """What position alone knows of a corpus's links."""

    def __init__(
        self, kind: type[Linking], options: LinkingOptions, conventions: Conventions
    ) -> None:
        self.kind, self.options, self.min_count = kind, options, conventions.min_count
        self.labels: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        clip = options.clip_offsets
        self.centres = Offsets(clip), Offsets(clip)  # around sources, around targets

    def count(self, shard: list[Pieces]) -> None:
        """Count the links of some texts."""
        links = [self.kind.linked(pieces, self.options) for pieces in shard]
        for link in (link for linked in links for link in linked):
            self.labels.setdefault(link.label, len(self.labels))
        buckets = np.array([bucket_of(pieces.example.unit) for pieces in shard])
        units = [pieces.unit[pieces.word >= 0] for pieces in shard]
        first = np.array([words[0] if len(words) else 0 for words in units])
        last = np.array([words[-1] if len(words) else 0 for words in units])
        asked = ask(shard, links, self.labels)
        for centre, questions in zip(self.centres, asked, strict=True):
            centre.count(questions, buckets, first, last)
        names = list(self.labels)
        numbers = np.bincount(asked[0].label, minlength=len(names))
        self.counts.update(dict(zip(names, numbers.tolist(), strict=True)))

    def missing(self) -> str | None:
        """Too few links to report any."""
        total = sum(self.counts.values())
        if total >= self.min_count:
            return None
        return f"it has {total} links and --min-count is {self.min_count}"
