"""Checks for plug-ins: is an analysis or an adapter well behaved? And tiny models to try them on.

>>> from headscope.analyses.focus import Focus
>>> check_analysis(Focus)
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers as tk
import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from headscope._util.naming import head_name
from headscope._util.progress import NoProgress
from headscope.analyses import Analysis, Inputs, analyses
from headscope.corpus import Budget, Corpus, Example, read
from headscope.errors import HeadscopeError, ModelError
from headscope.evidence import HEADS, HeadRow
from headscope.evidence.example_tables import ARCS
from headscope.experiments.scan import scan
from headscope.experiments.scan.gather import NOTHING_TO_COUNT
from headscope.experiments.scan.settings import Settings
from headscope.model import Batch, Model, disable, evaluating, wrap
from headscope.model.attention import MapWatcher
from headscope.runs import RunResults

LETTERS = [chr(97 + n) for n in range(26)]
WORDS = [first + second for first in LETTERS[:12] for second in LETTERS[:12]]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCABULARY = {word: n for n, word in enumerate([*SPECIAL, ".", ",", "!", *LETTERS, *WORDS])}
SIZES: Mapping[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "initializer_range": 0.4,
}
"""A tiny configuration; weights are large, so that heads differ."""
NEAR = 1e-6
"""How far numbers of the same texts may differ between batches and shards."""
WEIGHTS_NEAR = 1e-4
"""How far attention weights may be from those of the model's own eager attention."""
LONGEST = 1024
"""Tokens of the longest text that is tried."""


def tiny_tokenizer(decoder: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer that needs no file: words of one or two letters; longer ones fall into pieces."""
    core = tk.Tokenizer(tk.models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    core.normalizer = tk.normalizers.Sequence(
        [tk.normalizers.Lowercase(), tk.normalizers.Replace("\u200b", "")]
    )
    core.pre_tokenizer = tk.pre_tokenizers.Sequence(
        [
            tk.pre_tokenizers.Whitespace(),
            tk.pre_tokenizers.Split(tk.Regex("[a-z]{1,2}|[^a-z]"), "isolated"),
        ]
    )
    special: dict[str, Any] = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    if not decoder:
        core.post_processor = tk.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        special |= {"cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=62, **special)


def tiny_network(config: Any, seed: int = 1) -> PreTrainedModel:
    """A tiny random network without dropout.

    Args:
        config: a transformers configuration, or the name of a family whose configuration has the
            usual names (see `SIZES`).
    """
    torch.manual_seed(seed)
    if isinstance(config, str):
        config = AutoConfig.for_model(config, **SIZES)
    network: PreTrainedModel = AutoModel.from_config(deepcopy(config))  # the network changes it
    network.train(False)
    return network


def tiny_model(family: str = "bert", seed: int = 1) -> Model:
    """A tiny random model of a family, ready to be watched.

    >>> tiny_model("bert")
    bert: bert, 3 layers x 4 heads, at most 62 tokens
    """
    return wrap(tiny_network(family, seed), tiny_tokenizer(family in ("gpt2", "llama")), family)


def check_analysis(
    kind: type[Analysis],
    *data: Corpus,
    model: Model | None = None,
    options: Mapping[str, object] | None = None,
) -> None:
    """Raise an error that lists whatever is wrong with an analysis; return if nothing is.

    It is run on real texts with a tiny model: its numbers must not depend on how texts are cut
    into batches and shards, must be finite and within their unit's bounds, its tables must fit
    their declaration, its headlines and role rules must name groups and statistics that exist,
    and its page must render.

    Args:
        kind: a registered analysis.
        data: texts with the annotation it needs; by default the tour texts and pairs.
        model: by default a tiny BERT, or a tiny GPT-2 for what needs a decoder.
        options: of the analysis.
    """
    problems = list(_declaration_problems(kind))
    if isinstance(kind, type) and analyses().get(getattr(kind, "name", "")) is kind:
        family = "gpt2" if kind.inputs is Inputs.REPEATED else "bert"
        texts = data or (read("tour"), read("tour-pairs", limit=24))
        problems += _number_problems(kind, model or tiny_model(family), texts, options or {})
    if problems:
        name = getattr(kind, "name", kind.__name__)
        raise AssertionError(f"the analysis {name} is not well behaved: " + "; ".join(problems))


def _declaration_problems(kind: type[Analysis]) -> Iterator[str]:
    if not (isinstance(kind, type) and issubclass(kind, Analysis)):
        yield "it is not a subclass of headscope.plugin.Analysis"
        return
    if analyses().get(getattr(kind, "name", "")) is not kind:
        yield 'it is not registered: put @analysis("name") above the class'
    if not (kind.__doc__ or "").strip():
        yield "it has no docstring, which explains it in the report"
    options = kind.options_type
    if not dataclasses.is_dataclass(options) or not _frozen(options):
        yield "options_type is not a frozen dataclass"
        return
    for field in dataclasses.fields(options):
        if not field.metadata.get("help"):
            yield f"the option {field.name} has no help text: declare it with option(...)"


def _frozen(options: type) -> bool:
    return bool(getattr(options, "__dataclass_params__").frozen)  # noqa: B009  # not in the stubs


def _number_problems(
    kind: type[Analysis],
    model: Model,
    data: tuple[Corpus, ...],
    options: Mapping[str, object],
) -> Iterator[str]:
    given = {kind.name: options} if options else {}
    whole = Settings(max_length=model.max_length, min_count=5, options=given)
    variants = {
        "whole": whole,
        "shards": dataclasses.replace(whole, shard=50),
        "batches": dataclasses.replace(whole, budget=Budget(tokens=96)),
    }
    try:
        runs = {
            name: scan(model, *data, only=[kind.name], settings=settings, progress=NoProgress())
            for name, settings in variants.items()
        }
    except HeadscopeError as error:
        yield f"it cannot be run ({error}); give data with what it needs"
        return
    except Exception as error:  # whatever the analysis's own code raises is its problem
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        yield f"it cannot be run ({type(error).__name__} in {where}: {error})"
        return
    results = runs["whole"]
    yield from _value_problems(results)
    left_out = list(results.record.left_out.values())
    for name, reason in left_out[0].items():
        if all(part.get(name) == reason == NOTHING_TO_COUNT for part in left_out):
            yield f"{name}: {reason} in any of the texts"
    for name in ("shards", "batches"):
        if not _alike(results, runs[name]):
            yield f"its numbers depend on how texts are cut into {name}"
    yield from _name_problems(kind, results)
    yield from _page_problems(results)


def _value_problems(results: RunResults) -> Iterator[str]:
    rows = results.rows(HEADS)
    if not rows:
        yield "it gives no numbers"
    units = {
        (analysis.analysis, statistic.statistic): results.record.unit(statistic.unit)
        for analysis in results.record.analyses
        for statistic in analysis.statistics
    }
    for row in rows:
        numbers = [row.value, row.baseline or 0.0]
        number = f"{row.statistic} {row.group}" if row.group else row.statistic
        where = f"{number} of {head_name(row.layer, row.head, row.attention)}"
        if not all(math.isfinite(number) for number in numbers):
            yield f"{where} is not finite"
            return
        unit = units[row.analysis, row.statistic]
        if unit.bounded and not all(-NEAR <= number <= 1 + NEAR for number in numbers):
            yield f"{where} is {row.value:.3g}, which is no {unit.name}"
            return


def _alike(results: RunResults, other: RunResults) -> bool:
    """Whether two runs have the same rows, with values as near as rounding allows."""
    first, second = ({_key(row): row for row in run.rows(HEADS)} for run in (results, other))
    if first.keys() != second.keys():
        return False
    values, others = ([run[key].value for key in first] for run in (first, second))
    return bool(np.allclose(values, others, atol=10 * NEAR, rtol=10 * NEAR))


def _key(row: HeadRow) -> tuple[object, ...]:
    place = (row.corpus, row.layer, row.head)
    return (*place, row.statistic, row.group, row.direction)


def _name_problems(kind: type[Analysis], results: RunResults) -> Iterator[str]:
    statistics = [
        statistic for record in results.record.analyses for statistic in record.statistics
    ]
    groups = {statistic.statistic: set(statistic.groups) for statistic in statistics}
    for statistic in statistics:
        for group in statistic.headlines:
            if group and group not in statistic.groups:
                yield f"{statistic.statistic} has a headline for the unknown group {group!r}"
    for rule in kind.roles:
        if rule.statistic not in groups:
            yield f"the role {rule.name} rests on the unknown statistic {rule.statistic!r}"
        elif unknown := set(rule.groups) - groups[rule.statistic]:
            yield f"the role {rule.name} rests on unknown groups: {', '.join(sorted(unknown))}"
    for row in results.rows(ARCS):
        if row.statistic not in groups:
            yield f"examples are of the unknown statistic {row.statistic!r}"
            break


def _page_problems(results: RunResults) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            results.report(Path(folder) / "report.html")
        except Exception as error:  # whatever the analysis's own page raises is its problem
            yield f"its page does not render ({type(error).__name__}: {error})"


def check_adapter(network: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Raise an error that lists whatever is wrong with how a family of models is watched.

    On a padded batch the maps must be those of the model's own eager attention, switching a head
    off must change the output, and afterwards the model must be what it was.

    >>> check_adapter(tiny_network("bert"), tiny_tokenizer())
    """
    family = network.config.model_type
    try:
        with evaluating(network):
            problems = list(_adapter_problems(wrap(network, tokenizer)))
    except ModelError as error:
        raise AssertionError(f"{family} is not watched well: {error}") from error
    if problems:
        raise AssertionError(f"{family} is not watched well: " + "; ".join(problems))


def _adapter_problems(model: Model) -> Iterator[str]:
    examples = [Example("long", text="ab cd ef . gh ij ab"), Example("short", text="ka . a")]
    batch = model.batch(model.encode(examples))
    with torch.inference_mode():
        before = model.network(**batch.inputs(model.network))[0]
    real = batch.real
    for layer, (seen, own) in enumerate(
        zip(_observed_maps(model, batch), _eager_maps(model, batch), strict=True)
    ):
        rows = real[:, None, :, None]
        difference = float(((seen - own) * rows).abs().max())
        if difference > WEIGHTS_NEAR:
            yield f"weights of layer {layer} are {difference:.1e} from the model's own"
    with disable(model, [(model.sites[0].layer, 0)]), torch.inference_mode():
        off = model.network(**batch.inputs(model.network))[0]
    if torch.equal(off[real], before[real]):
        yield "switching a head off changes nothing"
    yield from _problems_of_length(model)
    with torch.inference_mode():
        after = model.network(**batch.inputs(model.network))[0]
    if not torch.equal(after[real], before[real]):
        yield "the model is not what it was afterwards"


def _problems_of_length(model: Model) -> Iterator[str]:
    """A text as long as the model is said to take must run; of one without a limit, a long one."""
    tokens = min(model.max_length, LONGEST)
    (pieces,) = model.encode([Example("limit", text="ab " * tokens)], tokens)
    batch = model.batch([pieces])
    try:
        with torch.inference_mode():
            model.network(**batch.inputs(model.network))
    except (IndexError, RuntimeError, ValueError) as error:
        yield (
            f"a text of {len(pieces)} tokens, which it is said to take, does not run "
            f"({type(error).__name__}); are positions reserved?"
        )


def _observed_maps(model: Model, batch: Batch) -> list[torch.Tensor]:
    """(example, head, query, key) of every layer, as headscope sees them."""
    maps: list[torch.Tensor] = []
    with model.watch(MapWatcher(lambda _, weights: maps.append(weights.clone()))) as tap:
        tap.forward(batch)
    return maps


@torch.inference_mode()
def _eager_maps(model: Model, batch: Batch) -> list[torch.Tensor]:
    """The same as the model itself returns them under eager attention."""
    network = model.network
    before = network.config._attn_implementation
    network.set_attn_implementation("eager")
    try:
        output = network(**batch.inputs(network), output_attentions=True)
    finally:
        network.set_attn_implementation(before)
    return list(output.attentions)
