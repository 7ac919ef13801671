"""What will be done with each corpus: which analyses on which inputs, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope._util.progress import Progress
from headscope.analyses import Analysis, Inputs, Needs
from headscope.corpus import Corpus, Survey, repeated_tokens
from headscope.corpus.readers import readers
from headscope.errors import HeadscopeError
from headscope.experiments.scan.passes import Pass, survey
from headscope.experiments.scan.settings import BY_NORM, Settings
from headscope.model import Model


def check(model: Model, corpora: list[Corpus], settings: Settings) -> None:
    """Refuse what cannot be done as asked."""
    if not corpora:
        raise HeadscopeError("nothing to scan: name at least one corpus")
    names = [corpus.name for corpus in corpora]
    for name in names:
        if names.count(name) > 1:
            raise HeadscopeError(f"two corpora are called {name!r}; rename one of the files")
    if settings.weights == BY_NORM and not model.exposes_values:
        raise HeadscopeError(
            f"the value vectors of {model.name} are not where headscope would find them, so its "
            "attention cannot be weighted by their norms"
        )
    model.check_length(settings.max_length)


@dataclass
class Plan:
    """What will be done with one corpus.

    Attributes:
        parts: the analyses of each kind of input, with the survey of these inputs.
        left_out: analyses, or parts of them, that cannot be done, and why.
    """

    corpus: Corpus
    parts: dict[Inputs, tuple[list[type[Analysis]], Survey]]
    left_out: dict[str, str]
    settings: Settings
    progress: Progress

    def passes(self, model: Model) -> Iterator[Pass]:
        """The passes of a model over the corpus."""
        for inputs, (kinds, surveyed) in self.parts.items():
            yield Pass(model, self.corpus, surveyed, kinds, self.settings, self.progress, inputs)


def make_plans(
    model: Model,
    corpora: list[Corpus],
    kinds: list[type[Analysis]],
    settings: Settings,
    progress: Progress,
) -> list[Plan]:
    """What will be done with each corpus, after a survey of all of them."""
    plans = [_plan(model, corpus, kinds, settings, progress) for corpus in corpora]
    if repeated := _of(kinds, Inputs.REPEATED):
        if model.causal:
            plans.append(_repeated(model, repeated, settings, progress))
        else:
            plans[0].left_out |= {kind.name: "it is for decoders" for kind in repeated}
    return plans


def _repeated(
    model: Model, kinds: list[type[Analysis]], settings: Settings, progress: Progress
) -> Plan:
    """What is done with no corpus at all, but with random tokens that come twice."""
    surveyed = Survey(settings.conventions)
    longest = settings.max_length or model.max_length
    surveyed.count(repeated_tokens(model.tokenizer, longest, settings.seed))
    tokens = Corpus("repeated tokens", (), readers()["text"])
    return Plan(tokens, {Inputs.REPEATED: (kinds, surveyed)}, {}, settings, progress)


def _plan(
    model: Model,
    corpus: Corpus,
    kinds: list[type[Analysis]],
    settings: Settings,
    progress: Progress,
) -> Plan:
    """Survey a corpus and keep the analyses that its annotation allows."""
    texts = survey(model, corpus, _of(kinds, Inputs.TEXTS), settings, progress)
    missing = {kind: reason for kind in kinds if (reason := _missing(kind, texts, model))}
    possible = [kind for kind in kinds if kind not in missing]
    parts = {}
    if _of(possible, Inputs.TEXTS):
        parts[Inputs.TEXTS] = (_of(possible, Inputs.TEXTS), texts)
    if across := _of(possible, Inputs.WINDOWS):
        windows = survey(model, corpus, across, settings, progress, inputs=Inputs.WINDOWS)
        parts[Inputs.WINDOWS] = (across, windows)
    left_out = {kind.name: reason for kind, reason in missing.items()}
    for kind in possible:
        for annotation, part in kind.optional_annotation.items():
            if not texts.annotated[annotation]:
                left_out[f"{kind.name} of {part}"] = f"the corpus has no {annotation}"
    if left_out:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        progress.say(f"{corpus.name}: left out {reasons}")
    return Plan(corpus, parts, left_out, settings, progress)


def _missing(kind: type[Analysis], texts: Survey, model: Model) -> str | None:
    """Why an analysis cannot be done on a corpus."""
    if model.kind not in kind.kinds:
        return f"it is for {' and '.join(sorted(kind.kinds))} attention"
    if Needs.VALUES in kind.needs and not model.exposes_values:
        return f"the value vectors of {model.name} are not where headscope would find them"
    if kind.annotation is not None and not texts.annotated[kind.annotation]:
        return f"the corpus has no {kind.annotation}"
    facts = texts.facts.get(kind.name)
    return facts.missing() if facts is not None else None


def _of(kinds: list[type[Analysis]], inputs: Inputs) -> list[type[Analysis]]:
    return [kind for kind in kinds if kind.inputs is inputs]


def check_something_to_do(plans: list[Plan]) -> None:
    """Refuse if no analysis that was asked for by name is possible anywhere."""
    if not any(plan.parts for plan in plans):
        plan = plans[0]
        name, reason = next(iter(plan.left_out.items()))
        raise HeadscopeError(f"{name} cannot be done on {plan.corpus.name}: {reason}")
