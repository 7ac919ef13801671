"""What the passes of a scan brought in, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headscope.analyses import Analysis, Inputs, describe_class
from headscope.corpus import Pieces, bucket_of
from headscope.evidence import Exemplars, Layout, Margins, ShardResult
from headscope.evidence.example_tables import ARCS, MAPS, MapRow
from headscope.experiments.scan import maps
from headscope.experiments.scan.examples import Measured, example_rows
from headscope.experiments.scan.passes import Pass
from headscope.model.attention import Kind
from headscope.runs import CorpusRecord, ResultBuilder, WindowsRecord

NOTHING_TO_COUNT = "there is nothing to count"


def add_pass(
    builder: ResultBuilder,
    each: Pass,
    result: ShardResult,
    margins: Mapping[str, Margins] | None = None,
) -> None:
    """Add what a pass brought in.

    Args:
        margins: by analysis, what heads that know nothing do; None: not known.
    """
    place = (each.corpus.name, each.model.weights)
    analyses = each.restore(result, each.prefix)
    every = []
    for analysis in analyses:
        statistics = list(analysis.statistics())
        about = describe_class(type(analysis))
        name = analysis.name
        heads, best = builder.add_statistics(
            name,
            about,
            statistics,
            *place,
            layout=each.layout,
            margins=None if margins is None else margins[name],
        )
        examples = result.ranked[f"{each.prefix}{name}"]
        every.append(Measured(analysis, heads, best, examples))
        for statistic in statistics:
            if not statistic.tally.counts.any():
                left_out = builder.left_out.setdefault(each.corpus.name, {})
                of = left_out_name(f"{statistic.name} of {name}", each.attention)
                left_out[of] = NOTHING_TO_COUNT
        rows = analysis.table_rows(*place)
        builder.add_declared(analysis.tables, (_of_kind(row, each.attention) for row in rows))
    builder.add_rows(ARCS, example_rows(every, each.layout))
    add_corpus(builder, each, place[1], result, analyses, prefix=each.prefix)


def left_out_name(what: str, attention: Kind | None) -> str:
    """What was left out, and of which kind of attention, where a model has several."""
    return what if attention is None else f"{what} of {attention} attention"


def _of_kind(row: Any, attention: Kind | None) -> Any:
    """A row of an analysis that looked at one kind of attention."""
    if attention is None or not hasattr(row, "attention"):
        return row
    return replace(row, attention=str(attention))


def add_corpus(
    builder: ResultBuilder,
    each: Pass,
    weights: str,
    result: ShardResult,
    analyses: Sequence[Analysis],
    *,
    prefix: str = "",
) -> None:
    """Add what a pass was made on, and its maps.

    Args:
        prefix: what every name in the result starts with.
    """
    attention = each.layout.attention
    place, survey = (each.corpus.name, weights, attention), each.survey
    sizes = {
        name: getattr(survey, name) for name in ("examples", "pieces", "longest", "cut", "lost")
    }
    sizes["buckets"] = len(survey.units)
    if place not in builder.corpora:  # texts come before windows
        stored = result.exemplars[f"{prefix}{maps.MAPS}"]
        labelling = (
            (analysis, result.exemplars.get(f"{prefix}{analysis.name} {maps.MAPS}"))
            for analysis in analyses
        )
        labels = next(((one, store) for one, store in labelling if store is not None), None)
        builder.add_rows(MAPS, _maps(stored, labels, each.layout, *place[:2]))
        corpus, _, attention = place
        where = CorpusRecord(corpus=corpus, weights=weights, attention=attention, **sizes)
        builder.corpora[place] = where
    if each.inputs is Inputs.WINDOWS:
        limit = each.settings.max_length or each.model.max_length
        windows = WindowsRecord(limit=limit, **sizes)
        builder.corpora[place] = replace(builder.corpora[place], windows=windows)


def corpus_record(
    corpus: str, weights: str, attention: str, texts: Sequence[Pieces], examples: int
) -> CorpusRecord:
    """The sizes of texts that are at hand, for a number of examples."""
    return CorpusRecord(
        corpus=corpus,
        weights=weights,
        attention=attention,
        examples=examples,
        pieces=sum(len(text) for text in texts),
        longest=max(len(text) for text in texts),
        cut=sum(text.lost > 0 for text in texts),
        lost=sum(text.lost for text in texts),
        buckets=len({bucket_of(text.example.unit) for text in texts}),
    )


def _maps(
    stored: Exemplars,
    labels: tuple[Analysis, Exemplars] | None,
    layout: Layout,
    corpus: str,
    weights: str,
) -> Iterator[MapRow]:
    """One row per text, layer and head, with the label of the map where an analysis gives one."""
    labelled = {exemplar.id: exemplar for exemplar in labels[1]} if labels else {}
    for exemplar in stored:
        for (layer, head), levels in zip(layout.places, exemplar.arrays["maps"], strict=True):
            label, probability = None, None
            if labels and exemplar.id in labelled:
                label, probability = labels[0].label_map(labelled[exemplar.id], layer, head)
            level = np.ascontiguousarray(levels).tobytes()
            yield MapRow(
                corpus,
                weights,
                exemplar.id,
                layer,
                head,
                exemplar.record["tokens"],
                level,
                label,
                probability,
                exemplar.record.get("queries"),
                attention=layout.attention,
            )
