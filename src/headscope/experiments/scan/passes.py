"""A pass: one model over one corpus, shard by shard, all analyses riding on it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from headscope._util.progress import Progress, duration
from headscope.analyses import Analysis, Inputs
from headscope.corpus import (
    Corpus,
    Pieces,
    Survey,
    plan_batches,
)
from headscope.corpus.display import has_readable_length
from headscope.evidence import Layout, RankedExamples, ShardResult
from headscope.experiments._shared.layouts import layout_of
from headscope.experiments.scan.examples import StrongestLinks, scored_by_means
from headscope.experiments.scan.maps import MAPS, Maps
from headscope.experiments.scan.reading import shards, sides_of
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, WorkItems, map_parallel, replicas_of
from headscope.model.attention import Kind, Watcher, of_kind
from headscope.runs import RunFolder, run

RANDOM = "random"
SAMPLE = 8
"""Texts that are tried to tell how long a pass will take."""


@dataclass
class Pass:
    """One model over one corpus.

    Attributes:
        attention: the kind of attention that it is about, in a model with an encoder and a decoder.
        sample: whether it is over a sample of the corpus only.
    """

    model: Model
    corpus: Corpus
    survey: Survey
    kinds: list[type[Analysis]]
    settings: Settings
    progress: Progress
    inputs: Inputs = Inputs.TEXTS
    attention: Kind | None = None
    sample: bool = False

    @property
    def examples(self) -> int:
        """How many inputs there are."""
        return len(self.survey.sample) if self.sample else self.survey.examples

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about, whichever model it is of: the corpus, its inputs, the attention."""
        return self.corpus.name, str(self.inputs), self.prefix

    @property
    def title(self) -> str:
        """What a progress bar calls it."""
        packed = " in windows" if self.inputs is Inputs.WINDOWS else ""
        random = " (random weights)" if self.model.weights == RANDOM else ""
        sample = ", a sample" if self.sample else ""
        return f"{self.corpus.name}{packed}{sample}{random}"

    @property
    def prefix(self) -> str:
        """What the names of its results start with."""
        return f"{self.attention} " if self.attention else ""

    def shards(self) -> Iterator[list[Pieces]]:
        """The inputs, so many at a time."""
        if self.sample:
            return iter([self.survey.sample])
        if self.survey.kept is not None:
            return iter(self.survey.kept)
        return shards(self.model, self.corpus, self.settings, self.inputs)

    @property
    def layout(self) -> Layout:
        """How tallies are laid out."""
        return layout_of(self.model, self.attention)

    def start(self) -> list[Analysis]:
        """The analyses with empty tallies."""
        layout, options_of = self.layout, self.settings.options_of
        return [kind(layout, self.survey, options_of(kind)) for kind in self.kinds]

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process did as done."""
        self.progress.advance(result.counts["examples"])

    @cached_property
    def replicas(self) -> list[Model]:
        """Those who read."""
        return replicas_of(self.model)

    def batches(self, shard: list[Pieces]) -> list[list[Pieces]]:
        """The texts of a shard by like length."""
        return [[shard[place] for place in batch] for batch in self._places(shard)]

    def _places(self, texts: list[Pieces]) -> list[list[int]]:
        padded = not self.model.adapter.depends_on_padding
        return plan_batches([text.lengths for text in texts], self.settings.budget, padded=padded)

    def restore(self, result: ShardResult, prefix: str = "") -> list[Analysis]:
        """The analyses with the tallies of a result restored."""
        analyses = self.start()
        for analysis in analyses:
            start = f"{prefix}{analysis.name} "
            keys = {name: f"{start}{name}" for name in analysis.tallies}
            analysis.restore({name: result.tallies[key] for name, key in keys.items()})
        return analyses


@dataclass
class Together:
    """Passes of one model over one corpus that are made at once: one for each kind of attention."""

    passes: list[Pass]

    @property
    def lead(self) -> Pass:
        """One of them, for what all have in common."""
        return self.passes[0]

    def shards(self) -> Iterator[list[Pieces]]:
        """The inputs, so many at a time."""
        return self.lead.shards()

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process did as done."""
        self.lead.skip(result)

    def work(self, shard: list[Pieces]) -> ShardResult:
        """Watch the model read one shard."""
        result = ShardResult()
        for part in map_parallel(self.lead.replicas, self.lead.batches(shard), self._read):
            result.merge(part)
        return result

    def _read(self, model: Model, batches: WorkItems[list[Pieces]]) -> ShardResult:
        """Watch a model read some batches."""
        shard = [pieces for texts in batches.items for pieces in texts]
        watching = [
            Watching(each, shard, examples=each.model.weights != RANDOM) for each in self.passes
        ]
        watchers = [watcher for some in watching for watcher in some.watchers]
        weighted = self.lead.settings.norm_weighted
        with model.watch(*watchers, norm_weighted=weighted) as tap:
            for texts in batches:
                tap.forward(model.batch(texts))
                self.lead.progress.advance(len(texts))
        result = ShardResult()
        for each, some in zip(self.passes, watching, strict=True):
            result.merge(some.collect(each.prefix))
        result.counts["examples"] = len(shard)
        return result

    def seconds(self) -> float:
        """How long one reader would take, from a few texts spread over the first shard."""
        lead = self.lead
        shard = next(self.shards())
        sample = shard[:: math.ceil(len(shard) / SAMPLE)]
        batches, weighted = lead.batches(sample), lead.settings.norm_weighted
        watchers = [of_kind(one, each.attention) for each in self.passes for one in each.start()]
        with lead.model.watch(*watchers, norm_weighted=weighted) as tap:
            tap.forward(lead.model.batch(batches[0]))  # warm up
            begin = time.perf_counter()
            for texts in batches:
                tap.forward(lead.model.batch(texts))
            taken = time.perf_counter() - begin
        return taken / len(sample) * lead.examples


def together(passes: Iterable[Pass]) -> list[Together]:
    """Those of some passes that can be made at once, together."""
    groups: dict[tuple[int, str, Inputs], list[Pass]] = {}
    for each in passes:
        key = (id(each.model), each.corpus.name, each.inputs)
        groups.setdefault(key, []).append(each)
    return [Together(group) for group in groups.values()]


def watch(group: Together, folder: RunFolder | None, number: int) -> ShardResult:
    """Make passes, shard by shard, into a folder if there is one.

    Args:
        number: of the group among all of the run.
    """
    lead = group.lead
    lead.progress.begin(lead.title, lead.examples)
    result = run(group.shards(), group.work, folder, number, group)
    lead.progress.end()
    return result


class Watching:
    """The analyses of a pass at work on one shard.

    Args:
        examples: whether to choose texts on which heads can be shown at work.
    """

    def __init__(self, each: Pass, shard: list[Pieces], *, examples: bool = True) -> None:
        texts = sides_of(shard, each.attention)
        self.model, self.analyses, self.maps = each.model, each.start(), Maps(texts)
        self.attention = each.attention
        self.scored = {one.name: list(one.scored_means()) for one in self.analyses if examples}
        self.links = StrongestLinks(texts) if any(self.scored.values()) else None
        for analysis in self.analyses:
            for scored in self.scored.get(analysis.name, ()):
                scored.mean.keep_texts(has_readable_length)
            analysis.begin_shard(texts)
            if examples:
                analysis.begin_examples(texts)

    @property
    def watchers(self) -> list[Watcher]:
        """All who ask for something."""
        every: list[Watcher] = [*self.analyses, self.maps]
        every += [] if self.links is None else [self.links]
        return [of_kind(one, self.attention) for one in every]

    def collect(self, prefix: str = "") -> ShardResult:
        """Collect the tallies and examples of all analyses; `prefix` starts every name."""
        result = ShardResult()
        texts = {} if self.links is None else self.links.texts(self.model.tokens)
        for one in self.analyses:
            named = {f"{prefix}{one.name} {key}": tally for key, tally in one.tallies.items()}
            result.tallies |= named
            for group, store in one.exemplars().items():
                result.exemplars[f"{prefix}{one.name} {group}"] = store
            ranked = result.ranked[f"{prefix}{one.name}"] = RankedExamples()
            ranked.offer([*one.candidates()])
            ranked.offer([*scored_by_means(self.scored.get(one.name, ()), texts, one.layout)])
        result.exemplars[f"{prefix}{MAPS}"] = self.maps.finish(self.model.tokens)
        return result


def forecast(groups: list[Together], sampled: int) -> str:
    """What will be done and how long it will take, said beforehand.

    Args:
        sampled: texts that untrained networks read besides.
    """
    model = groups[0].lead.model
    texts = sum(each.lead.survey.examples for each in groups)
    pieces = sum(each.lead.survey.pieces for each in groups)
    seconds = sum(each.seconds() for each in groups) * (1 + sampled / max(1, texts))
    shape = f"{model.layers} x {model.heads} heads of {model.name}"
    return f"{shape} on {texts:,} texts ({pieces:,} pieces): about {duration(seconds)}"
