"""What will be done with each corpus: which analyses on which inputs, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from headscope._util.progress import Progress
from headscope.analyses import Analysis, Inputs, Needs
from headscope.corpus import Corpus, Survey, repeated_tokens
from headscope.corpus.readers import readers
from headscope.errors import HeadscopeError
from headscope.experiments.scan.gather import left_out_name
from headscope.experiments.scan.passes import Pass
from headscope.experiments.scan.reading import survey
from headscope.experiments.scan.settings import BY_NORM, Settings
from headscope.model import Model
from headscope.model.attention import Kind

NO_TRANSLATIONS = "the corpus has no translations (read it as parallel:FILE, or see --generate)"


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
class Part:
    """Analyses that are done on the same inputs, with the survey of these.

    Attributes:
        attention: the kind that they watch, in a model with an encoder and a decoder.
    """

    inputs: Inputs
    kinds: list[type[Analysis]]
    survey: Survey
    attention: Kind | None = None


@dataclass
class Plan:
    """What will be done with one corpus.

    Attributes:
        left_out: analyses, or parts of them, that cannot be done, and why.
    """

    corpus: Corpus
    parts: list[Part]
    left_out: dict[str, str]
    settings: Settings
    progress: Progress

    def passes(self, model: Model, *, sample: bool = False) -> Iterator[Pass]:
        """The passes of a model over the corpus, or over a sample of it."""
        how = (self.settings, self.progress)
        for part in self.parts:
            what = (part.survey, part.kinds)
            yield Pass(model, self.corpus, *what, *how, part.inputs, part.attention, sample)


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
        if model.causal and not model.attentions:
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
    return Plan(tokens, [Part(Inputs.REPEATED, kinds, surveyed)], {}, settings, progress)


def _plan(
    model: Model,
    corpus: Corpus,
    kinds: list[type[Analysis]],
    settings: Settings,
    progress: Progress,
) -> Plan:
    """Survey a corpus and keep the analyses that its annotation allows."""
    plan = Plan(corpus, [], {}, settings, progress)
    if model.attentions:
        for attention in Kind:
            _plan_attention(plan, model, kinds, attention)
    else:
        texts = survey(model, corpus, _of(kinds, Inputs.TEXTS), settings, progress)
        possible = _possible(plan, model, kinds, texts)
        if _of(possible, Inputs.TEXTS):
            plan.parts.append(Part(Inputs.TEXTS, _of(possible, Inputs.TEXTS), texts))
        if across := _of(possible, Inputs.WINDOWS):
            windows = survey(model, corpus, across, settings, progress, inputs=Inputs.WINDOWS)
            plan.parts.append(Part(Inputs.WINDOWS, across, windows))
        if _translated(corpus):
            progress.say(f"{corpus.name}: {model.name} has no decoder to read its translations")
    if plan.left_out:
        progress.say(f"{corpus.name}: left out {_reasons(plan.left_out, bool(model.attentions))}")
    return plan


def _reasons(left_out: dict[str, str], together: bool) -> str:
    """What is left out and why; `together`: what has one reason in one place."""
    if not together:
        return "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
    names: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        names.setdefault(reason, []).append(name.replace(" attention", ""))
    return "; ".join(f"{', '.join(some)}: {reason}" for reason, some in names.items())


def _plan_attention(plan: Plan, model: Model, kinds: list[type[Analysis]], attention: Kind) -> None:
    """Plan what is done with one kind of attention of a model with an encoder and a decoder."""
    if attention in model.missing:
        plan.left_out[f"{attention} attention"] = model.missing[attention]
        return
    if attention is not Kind.ENCODER and not _translated(plan.corpus):
        plan.left_out[f"{attention} attention"] = NO_TRANSLATIONS
        return
    for kind in _of(kinds, Inputs.WINDOWS):
        plan.left_out[left_out_name(kind.name, attention)] = "it needs whole documents as one text"
    kinds = _of(kinds, Inputs.TEXTS)
    how = (plan.settings, plan.progress)
    texts = survey(model, plan.corpus, kinds, *how, attention=attention)
    if possible := _possible(plan, model, kinds, texts, attention):
        plan.parts.append(Part(Inputs.TEXTS, possible, texts, attention))


def _translated(corpus: Corpus) -> bool:
    """Whether its texts have translations, which a decoder is to say."""
    return any(example.translation is not None for example in islice(corpus, 1))


def _possible(
    plan: Plan,
    model: Model,
    kinds: list[type[Analysis]],
    texts: Survey,
    attention: Kind | None = None,
) -> list[type[Analysis]]:
    """The analyses that can be done; the others are left out of the plan with a reason."""
    possible = []
    for kind in kinds:
        if reason := _missing(kind, texts, model, attention):
            plan.left_out[left_out_name(kind.name, attention)] = reason
            continue
        possible.append(kind)
        for annotation, part in kind.optional_annotation.items():
            if not texts.annotated[annotation]:
                name = left_out_name(f"{kind.name} of {part}", attention)
                plan.left_out[name] = f"the corpus has no {annotation}"
    return possible


def _missing(
    kind: type[Analysis], texts: Survey, model: Model, attention: Kind | None
) -> str | None:
    """Why an analysis cannot be done on a corpus."""
    if (attention or model.kind) not in kind.kinds:
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
