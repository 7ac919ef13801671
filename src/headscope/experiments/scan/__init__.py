"""A study: a model, corpora, analyses and a run folder wired together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headscope._util.progress import Progress
from headscope.analyses import Analysis, Inputs, Needs, choose
from headscope.corpus import Corpus, Survey, read, repeated_tokens
from headscope.corpus.readers import names
from headscope.errors import HeadscopeError
from headscope.experiments._shared.loss_gradients import Gradients
from headscope.experiments.base import Work, recorded, versions
from headscope.experiments.importance.compute import Importance
from headscope.experiments.scan.gather import Gathered
from headscope.experiments.scan.passes import BY_NORM, WEIGHTS, Options, Pass, forecast, survey
from headscope.model import Model, load, reinitialise
from headscope.runs import Results, RunFolder, run
from headscope.runs.found import Found
from headscope.tasks import MaskedLM


def scan(
    model: Model | str | Path,
    *data: Corpus | str | Path,
    out: str | Path | None = None,
    only: Sequence[str] | None = None,
    options: Options | None = None,
    gradients: bool = False,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Watch a model read corpora: every analysis in one pass, with evidence on every number.

    Args:
        data: corpora, each reported by itself.
        out: a run folder, which makes the scan resumable; None keeps the results in memory.
        only: names of analyses; None means all that the annotation allows.
        gradients: also follow the masked-LM loss of the texts to attention; the model must have
            been loaded with that head (for other tasks see `importance`).

    >>> from headscope._util.progress import NoProgress
    >>> found = scan("minilm", read("tour", limit=24), only=["focus"], progress=NoProgress())
    >>> found.heads.num_rows
    237
    """
    options = options or Options()
    model = model if isinstance(model, Model) else load(model)
    corpora = [one if isinstance(one, Corpus) else read(one) for one in data]
    kinds = choose(list(only) if only is not None else None)
    check(model, corpora, options)
    study = describe(model, corpora, kinds, options) | {"gradients": gradients}
    if gradients and (model.with_top is None or model.with_top.get_output_embeddings() is None):
        raise HeadscopeError(
            f"{model.name} was loaded without a masked-LM head, so there is no loss to follow; "
            "headscope importance follows that of a task"
        )

    def prepare(shown: Progress) -> Work:
        plans = planned(model, corpora, kinds, options, shown)
        if only is not None:
            _nothing_to_do(plans)
        models = [model] + ([reinitialise(model, options.seed)] if options.random_weights else [])
        passes = [one for watched in models for plan in plans for one in plan.passes(watched)]
        if shown.visible:
            shown.say(forecast(passes))
        felt = [
            Importance(model=model, task=MaskedLM(one.name, one, options.seed),
                       max_length=options.max_length, seed=options.seed, progress=shown)
            for one in corpora if gradients
        ]  # fmt: skip
        return lambda folder: _work(passes, felt, folder, left_out(plans))

    return recorded(study, prepare, out=out, progress=progress, command=command)


def check(model: Model, corpora: list[Corpus], options: Options) -> None:
    """Whatever can be wrong with what was asked for."""
    if not corpora:
        raise HeadscopeError("nothing to scan: name at least one corpus")
    names = [corpus.name for corpus in corpora]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise HeadscopeError(f"two corpora are called {twice!r}; rename one of the files")
    if options.rules.pieces not in ("mean", "first"):
        raise HeadscopeError(f"--pieces is 'mean' or 'first', not {options.rules.pieces!r}")
    if options.weights not in WEIGHTS:
        raise HeadscopeError(f"--weights is {' or '.join(WEIGHTS)}, not {options.weights!r}")
    if options.weights == BY_NORM and not model.exposes_values:
        raise HeadscopeError(
            f"the value vectors of {model.name} are not where headscope would find them, so its "
            "attention cannot be weighted by their norms"
        )
    model.check_length(options.max_length)


@dataclass
class Plan:
    """What will be done with one corpus: which analyses on which inputs, and what is left out."""

    corpus: Corpus
    parts: dict[Inputs, tuple[list[type[Analysis]], Survey]]
    left_out: dict[str, str]
    options: Options
    progress: Progress

    def passes(self, model: Model) -> Iterator[Pass]:
        """The passes of a model over the corpus."""
        for inputs, (kinds, found) in self.parts.items():
            yield Pass(model, self.corpus, found, kinds, self.options, self.progress, inputs)


def planned(
    model: Model,
    corpora: list[Corpus],
    kinds: list[type[Analysis]],
    options: Options,
    progress: Progress,
) -> list[Plan]:
    """What will be done with each corpus, after a look at all of them."""
    plans = [_plan(model, corpus, kinds, options, progress) for corpus in corpora]
    if repeated := _of(kinds, Inputs.REPEATED):
        if model.causal:
            plans.append(_repeated(model, repeated, options, progress))
        else:
            plans[0].left_out |= {kind.name: "it is for decoders" for kind in repeated}
    return plans


def _repeated(
    model: Model, kinds: list[type[Analysis]], options: Options, progress: Progress
) -> Plan:
    """What is done with no corpus at all, but with random tokens that come twice."""
    found = Survey(options.rules)
    longest = options.max_length or model.max_length
    found.count(repeated_tokens(model.tokenizer, longest, options.seed))
    tokens = Corpus("repeated tokens", (), names()["text"])
    return Plan(tokens, {Inputs.REPEATED: (kinds, found)}, {}, options, progress)


def _plan(
    model: Model,
    corpus: Corpus,
    kinds: list[type[Analysis]],
    options: Options,
    progress: Progress,
) -> Plan:
    """Survey a corpus and keep the analyses that its annotation allows."""
    texts = survey(model, corpus, _of(kinds, Inputs.TEXTS), options, progress)
    missing = {kind: reason for kind in kinds if (reason := _missing(kind, texts, model))}
    possible = [kind for kind in kinds if kind not in missing]
    parts = {}
    if _of(possible, Inputs.TEXTS):
        parts[Inputs.TEXTS] = (_of(possible, Inputs.TEXTS), texts)
    if across := _of(possible, Inputs.WINDOWS):
        found = survey(model, corpus, across, options, progress, inputs=Inputs.WINDOWS)
        parts[Inputs.WINDOWS] = (across, found)
    left_out = {kind.name: reason for kind, reason in missing.items()}
    for kind in possible:
        for annotation, part in kind.partly.items():
            if not texts.annotated[annotation]:
                left_out[f"{kind.name} of {part}"] = f"the corpus has no {annotation}"
    if left_out:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        progress.say(f"{corpus.name}: left out {reasons}")
    return Plan(corpus, parts, left_out, options, progress)


def _missing(kind: type[Analysis], texts: Survey, model: Model) -> str | None:
    """Why an analysis cannot be done on a corpus."""
    if Needs.VALUES in kind.needs and not model.exposes_values:
        return f"the value vectors of {model.name} are not where headscope would find them"
    if kind.annotation is not None and not texts.annotated[kind.annotation]:
        return f"the corpus has no {kind.annotation}"
    facts = texts.facts.get(kind.name)
    return facts.lacking() if facts is not None else None


def _of(kinds: list[type[Analysis]], inputs: Inputs) -> list[type[Analysis]]:
    return [kind for kind in kinds if kind.inputs is inputs]


def _nothing_to_do(plans: list[Plan]) -> None:
    """What was asked for by name must be possible somewhere."""
    if not any(plan.parts for plan in plans):
        plan = plans[0]
        name, reason = next(iter(plan.left_out.items()))
        raise HeadscopeError(f"{name} cannot be done on {plan.corpus.name}: {reason}")


def describe(
    model: Model, corpora: list[Corpus], kinds: list[type[Analysis]], options: Options
) -> dict[str, Any]:
    """What identifies a study: the same study gives the same numbers."""
    return {
        "model": model.describe(),
        "data": [corpus.describe() for corpus in corpora],
        "analyses": [kind.name for kind in kinds],
        "options": asdict(options),
        "versions": versions(),
    }


def left_out(plans: list[Plan]) -> dict[str, Any]:
    """For the record: what could not be done with which corpus, and why."""
    return {"left_out": {one.corpus.name: one.left_out for one in plans}}


def _work(
    passes: list[Pass], felt: list[Importance], folder: RunFolder | None, kept: dict[str, Any]
) -> Results:
    """Do every pass, follow every loss, and turn what they brought in into tables."""
    gathered = Gathered()
    for part, one in enumerate(passes):
        random = " (random weights)" if one.model.weights == "random" else ""
        packed = " in windows" if one.inputs is Inputs.WINDOWS else ""
        one.progress.begin(f"{one.corpus.name}{packed}{random}", one.survey.examples)
        harvest = run(one.shards(), one.work, folder, part, one)
        one.progress.end()
        gathered.add(one, harvest)
    for part, loss in enumerate(felt, len(passes)):
        loss.progress.begin(f"{loss.task.name}, gradients", len(loss.cases))
        loss.harvest = run(loss.parts, loss.work, folder, part, loss)
        loss.progress.end()
        place = (loss.task.name, loss.model.weights)
        gathered.take(Gradients, loss.gradients().statistics(), *place)
    return gathered.results(kept)
