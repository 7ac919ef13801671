"""What works for a family: each operation is tried on a tiny network and compared.

The maps are compared with those that the network itself returns under eager attention; ablation
with the task while heads are off; a smaller network with the same heads at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

import headscope as hs
from families.listing import is_decoder
from families.tiny import family_network
from headscope._util.progress import NoProgress
from headscope.corpus import Budget, Example, parallel
from headscope.experiments.ablation.tables import ABLATION
from headscope.model import Batch, Model
from headscope.model.attention import Kind, MapWatcher, Seen
from headscope.model.hooks.product_layouts import as_whole
from headscope.tasks import Task
from headscope.tasks.translation import TranslationLoss
from headscope.testing import tiny_tokenizer

OK = "ok"
NEAR = 1e-4
TEXTS = {
    "padded": [
        "ab cd ef . gh ij kl ab ab cd ef gh ij kk . la",
        "a",
        "aabb cc , dd ee ff gg hh ii jj kk ll",
    ],
    "unpadded": ["ab cd ef . gh ij ka ab cd ef gh", "gh ij kl , aa bb cc dd ee ff gg"],
}

PAIRS = [
    ("ab cd ef . gh ij kl ab ab cd", "gh ij kl , aa bb"),
    ("a", "ab cd ef . gh ij kl ab ab cd ef gh"),
    ("aabb cc , dd ee ff", "cd"),
    ("ij kl", "gh ij aa bb cc"),
]
"""Texts with what stands for their translations."""


class WrongError(Exception):
    """A number that is not what it should be."""


@dataclass
class Findings:
    """What works for a family.

    Attributes:
        kind: encoder, decoder, or both.
        shape: layers and heads.
        outcomes: by operation: "ok", "wrong: ...", "crash: ...", or the sentence of a refusal.
    """

    family: str
    kind: str = ""
    shape: str = ""
    outcomes: dict[str, str] = field(default_factory=dict)


def check_family(family: str) -> Findings:
    """Try all operations on a tiny network of a family."""
    findings = Findings(family)
    try:
        network = family_network(family)
    except Exception as error:  # whatever a family raises, the others are tried
        findings.outcomes["scan"] = f"not built: {type(error).__name__}: {error}"
        return findings
    both = bool(getattr(network.config, "is_encoder_decoder", False))
    findings.kind = "both" if both else "decoder" if is_decoder(family) else "encoder"
    (_TranslatorChecks if both else _FamilyChecks)(findings, network).run()
    return findings


class _FamilyChecks:
    """The checks of one family, one after the other."""

    def __init__(self, findings: Findings, network: PreTrainedModel) -> None:
        self.findings, self.network = findings, network
        self.task = self._task()
        self.model: Model

    def _task(self) -> Task:
        return hs.task("tour", limit=24)

    def run(self) -> None:
        """Fill in the outcomes."""
        before = {name: weight.clone() for name, weight in self.network.state_dict().items()}
        implementation = self.network.config._attn_implementation
        if self._try("scan", self._scan):
            self._try("ablate", self._ablate)
            self._try("importance", self._importance)
            self._try("relevance", self._relevance)
            self._try("remove", self._remove)
        after = self.network.state_dict()
        same = all(torch.equal(after[name], weight) for name, weight in before.items())
        if not same or self.network.config._attn_implementation != implementation:
            self.findings.outcomes["scan"] = "wrong: the model is not what it was"

    def _try(self, name: str, check: Callable[[], None]) -> bool:
        try:
            check()
            outcome = OK
        except hs.HeadscopeError as error:
            outcome = str(error)
        except WrongError as error:
            outcome = f"wrong: {error}"
        except Exception as error:  # a crash is what is looked for
            outcome = f"crash: {type(error).__name__}: {error}"
        self.findings.outcomes[name] = outcome
        return outcome == OK

    def _batches(self) -> Iterator[Batch]:
        for texts in TEXTS.values():
            examples = [Example(str(number), text=text) for number, text in enumerate(texts)]
            yield self.model.batch(self.model.encode(examples))

    def _output(self, model: Model, batch: Batch) -> Tensor:
        with torch.inference_mode():
            output: Tensor = model.network(**batch.inputs(model.network))[0][batch.real_outputs]
            return output

    def _scan(self) -> None:
        family = self.findings.family
        tokenizer = tiny_tokenizer(decoder=is_decoder(family))
        tokenizer.model_max_length = 200
        self.model = hs.wrap(self.network, tokenizer, family)
        self.findings.shape = f"{self.model.layers} x {self.model.heads}"
        eager = family_network(family, "eager")
        eager.load_state_dict(self.network.state_dict())
        for batch in self._batches():
            self._compare(batch, eager.base_model)
        hs.scan(self.model, hs.read("tour", limit=24), progress=NoProgress())

    def _compare(self, batch: Batch, eager: torch.nn.Module) -> None:
        """Compare the maps with those that an eager network returns; some return none."""
        seen: list[Tensor] = []
        with self.model.watch(MapWatcher(lambda _, maps: seen.append(maps.clone()))) as tap:
            tap.forward(batch)
        with torch.inference_mode():
            output = eager(**batch.inputs(self.network), output_attentions=True)
        maps_of_layers = getattr(output, "attentions", None) or ()
        own = [maps for maps in maps_of_layers if isinstance(maps, Tensor) and maps.dim() == 4]
        if len(own) != len(seen):
            return  # it also returns what is no map of heads; verified when it was wrapped
        for layer, (ours, returned) in enumerate(zip(seen, own, strict=True)):
            theirs = as_whole(returned, ours)
            if ours.shape != theirs.shape:
                raise WrongError(f"the map of layer {layer} has another shape")
            real = batch.real[:, None, :, None].expand_as(ours)
            difference = float((ours - theirs)[real].abs().max())
            if not difference <= NEAR:
                raise WrongError(f"the map of layer {layer} is {difference:.0e} from eager")

    def _ablate(self) -> None:
        task = self.task
        found = hs.ablate(self.model, task, progress=NoProgress()).rows(ABLATION)
        cases = task.cases(self.model, task.examples, None)
        gold = np.array([case.gold for case in cases])
        metric = task.metrics[0]
        for name in self._names():
            with hs.disable(self.model, name):
                expected = metric(task.predict(self.model, cases, Budget(256, 256 * 128)), gold)
            row = next(r for r in found if r.name == name and r.metric == metric.name)
            if abs(row.value - expected) > 5e-3:
                raise WrongError(f"without {name} the task gives {expected}, not {row.value}")

    def _names(self) -> list[str]:
        """A head and a layer to switch off."""
        sites = list(self.model.numbered_sites)
        first, last = sites[0], sites[-1]
        return [self.model.head_name(first, 1), self.model.head_name(last)]

    def _importance(self) -> None:
        hs.importance(self.model, self.task, progress=NoProgress())

    def _relevance(self) -> None:
        hs.relevance(self.model, self.task, progress=NoProgress())

    def _remove(self) -> None:
        gone = self._gone()
        smaller = hs.remove(self.model, gone)
        for batch in self._batches():
            with hs.disable(self.model, gone, "zero"):
                expected = self._output(self.model, batch)
            difference = float((self._output(smaller, batch) - expected).abs().max())
            if not difference <= 1e-3 * float(expected.abs().max()):
                raise WrongError(f"its output is {difference:.0e} from that with the heads at zero")

    def _gone(self) -> list[tuple[int, int]]:
        """Heads to remove."""
        sites = list(self.model.numbered_sites)
        first, last = sites[0], sites[-1]
        return list({(first, 1), (last, 0)})


class _TranslatorChecks(_FamilyChecks):
    """The same for a model with an encoder and a decoder: all kinds of attention that it has."""

    def _task(self) -> Task:
        return TranslationLoss("translations", parallel(PAIRS * 4))

    def _batches(self) -> Iterator[Batch]:
        yield self.model.batch(self.model.encode(list(parallel(PAIRS))))

    def _scan(self) -> None:
        family = self.findings.family
        self.model = hs.wrap(self.network, tiny_tokenizer(), family)
        kinds = (f"{kind} {len(sites)}" for kind, sites in self.model.stacks.items())
        self.findings.shape = f"{', '.join(kinds)} x {self.model.heads}"
        if self.model.missing:
            raise hs.HeadscopeError("; ".join(self.model.missing.values()))
        eager = family_network(family, "eager")
        eager.load_state_dict(self.network.state_dict())
        for batch in self._batches():
            self._compare(batch, eager.base_model)
        hs.scan(self.model, parallel(PAIRS * 8), progress=NoProgress())

    def _compare(self, batch: Batch, eager: torch.nn.Module) -> None:
        """Compare the maps of every kind with those that an eager network returns."""
        seen: dict[Kind, list[Tensor]] = {kind: [] for kind in Kind}

        def keep(one: Seen, maps: Tensor) -> None:
            seen[one.site.kind].append(maps.clone())

        with self.model.watch(MapWatcher(keep)) as tap:
            tap.forward(batch)
        with torch.inference_mode():
            output = eager(**batch.inputs(self.network), output_attentions=True)
        for kind, ours in seen.items():
            theirs = getattr(output, f"{kind}_attentions")
            rows = batch.sides(kind)[0].real[:, None, :, None]
            for layer, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                difference = float(((one - as_whole(other, one)) * rows).abs().max())
                if not difference <= NEAR:
                    raise WrongError(f"the map of {kind} {layer} is {difference:.0e} from eager")

    def _gone(self) -> list[tuple[int, int]]:
        return [(number, number % 2) for number in self.model.numbered_sites]
