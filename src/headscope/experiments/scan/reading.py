"""Reading a corpus for a pass: the survey beforehand, then shards of texts or of windows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from headscope._util.progress import Progress
from headscope.analyses import Analysis, Inputs, Needs
from headscope.corpus import (
    Corpus,
    Example,
    PairedPieces,
    Pieces,
    Survey,
    frequencies_from,
    marks_spaces,
    pack,
)
from headscope.errors import InputError
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.model.attention import Kind


def survey(
    model: Model,
    corpus: Corpus,
    kinds: list[type[Analysis]],
    settings: Settings,
    progress: Progress,
    *,
    inputs: Inputs = Inputs.TEXTS,
    attention: Kind | None = None,
) -> Survey:
    """One look over a corpus before the model sees it: sizes, annotation, facts, bad input.

    Args:
        attention: which of the two texts it is of, in a model with an encoder and a decoder: that
            which is looked at.
    """
    surveyed = Survey(settings.conventions)
    counting = any(Needs.FREQUENCIES in kind.needs for kind in kinds)
    if counting:
        surveyed.frequencies = frequencies_from(settings.frequencies)
    asked = {
        kind.name: kind.corpus_facts(settings.options_of(kind), settings.conventions)
        for kind in kinds
    }
    surveyed.facts = {name: facts for name, facts in asked.items() if facts is not None}
    for shard in shards(model, corpus, settings, inputs):
        texts = sides_of(shard, attention)
        for whole, pieces in zip(shard, texts, strict=True):
            model.check_not_truncated(whole, settings.max_length, corpus.paths[0])
            if counting:
                surveyed.frequencies.count(pieces.words)
        surveyed.count(texts, kept=shard)
    if not surveyed.examples:
        chosen = f" with a document like {corpus.documents!r}" if corpus.documents else ""
        raise InputError(f"no examples{chosen} in it", corpus.paths[0])
    if surveyed.cut:
        progress.say(
            f"{corpus.name}: {surveyed.cut:,} of {surveyed.examples:,} {inputs} are cut to "
            f"{settings.max_length} pieces; {surveyed.lost:,} pieces are not seen"
        )
    return surveyed


def shards(
    model: Model, corpus: Corpus, settings: Settings, inputs: Inputs = Inputs.TEXTS
) -> Iterator[list[Pieces]]:
    """The corpus as pieces, so many examples at a time, in its own order."""
    examples = iter(corpus) if inputs is Inputs.TEXTS else windows(model, corpus, settings)
    while shard := list(islice(examples, settings.shard)):
        yield model.encode(shard, settings.max_length)


def windows(model: Model, corpus: Corpus, settings: Settings) -> Iterator[Example]:
    """The documents of a corpus as windows that are as long as the model or the user allows."""
    limit = settings.max_length or model.max_length
    spare = 2 if marks_spaces(model.tokenizer) else 0  # a space before may split a word anew
    sentences = (
        (pieces.example, int((~pieces.special).sum()) + pieces.lost + spare)
        for shard in shards(model, corpus, settings)
        for pieces in shard
    )
    return pack(sentences, limit - model.num_special_tokens)


def sides_of(shard: list[Pieces], attention: Kind | None) -> list[Pieces]:
    """The texts of a shard that a kind of attention looks at: of a decoder the translations."""
    if attention is not Kind.DECODER:
        return shard
    return [text.target if isinstance(text, PairedPieces) else text for text in shard]
