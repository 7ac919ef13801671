"""The reproduction itself: recipe by recipe, then number by number."""

from __future__ import annotations

from dataclasses import replace

from headscope._util.progress import Progress
from headscope.errors import HeadscopeError
from headscope.experiments._shared.identity import model_record
from headscope.experiments.base import Experiment, versions
from headscope.experiments.reproduce.comparison import compare
from headscope.experiments.reproduce.inputs import CannotReproduceError, Inputs
from headscope.experiments.reproduce.paper import Paper, PublishedNumber, Scope
from headscope.experiments.reproduce.tables import REPRODUCED, ReproducedRow, ReproductionSummary
from headscope.experiments.reproduce.workbench import Quantities, Recomputed, Workbench, recipe_of
from headscope.model import Model
from headscope.runs import ResultBuilder, RunFolder, Study

OTHER_HEADS = "the heads of another model have numbers of their own"
NOT_COMPUTED = "the recipe gives no such number for this model and data"


class Reproduction(Experiment):
    """Numbers of one paper, computed again with one model."""

    name = "reproduction"

    def __init__(
        self, paper: Paper, numbers: list[PublishedNumber], model: Model, inputs: Inputs
    ) -> None:
        self.paper, self.numbers, self.model, self.inputs = paper, numbers, model, inputs

    def study(self) -> Study:
        """What identifies the reproduction."""
        options = {
            "paper": self.paper.key,
            "tables": list(dict.fromkeys(number.table for number in self.numbers)),
            "inputs": self.inputs.describe(),
            "limit": self.inputs.limit,
        }
        return Study(model_record(self.model), versions(), options, experiment=self.name)

    def prepare(self, progress: Progress) -> None:
        """Find out which recipes can be followed; none at all is an error."""
        self.progress = progress
        self.cannot: dict[str, str] = {}
        wanted = dict.fromkeys(number.recipe for number in self.numbers if not number.cannot)
        for name in wanted:
            try:
                for needed in recipe_of(self.paper.key, name).inputs:
                    self.inputs.source(needed)
            except CannotReproduceError as error:
                self.cannot[name] = str(error)
        self.recipes = [name for name in wanted if name not in self.cannot]
        if wanted and not self.recipes:
            raise HeadscopeError(
                f"nothing of {self.paper.key} can be computed: "
                f"{'; '.join(dict.fromkeys(self.cannot.values()))}"
            )

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Follow every recipe, then compare number by number."""
        home = None if folder is None else folder.path
        bench = Workbench(self.model, self.inputs, home, self.progress)
        computed: dict[str, Quantities] = {}
        for place, name in enumerate(self.recipes, 1):
            self.progress.say(f"{self.paper.key}, {place} of {len(self.recipes)}: {name}")
            try:
                computed[name] = recipe_of(self.paper.key, name).follow(bench)
            except CannotReproduceError as error:
                self.cannot[name] = str(error)
        builder = ResultBuilder()
        rows = [self._compared(number, computed) for number in self.numbers]
        builder.add_rows(REPRODUCED, rows)
        builder.summarise(self._summary())
        return builder

    def _compared(self, number: PublishedNumber, computed: dict[str, Quantities]) -> ReproducedRow:
        """A row of the table."""
        ours: Recomputed | None = computed.get(number.recipe, {}).get(number.quantity)
        apart = self._apart(number)
        if ours is None:
            because = number.cannot or self.cannot.get(number.recipe) or apart or NOT_COMPUTED
        else:
            because = self._explanation(number)
            ours = replace(ours, apart=apart or ours.apart)
        return compare(self.paper, number, ours, because)

    def _apart(self, number: PublishedNumber) -> str:
        """Why a number cannot be compared with that of another model; empty if it can."""
        if self._is_the_papers or number.scope in (Scope.DATA, Scope.MODEL):
            return ""
        if number.scope is Scope.HEAD:
            return OTHER_HEADS
        if self.model.layers != self.paper.depth:
            return (
                f"of models of {self.paper.depth} layers; {self.model.name} has {self.model.layers}"
            )
        return ""

    def _explanation(self, number: PublishedNumber) -> str:
        """What else is different here: the model, or the data."""
        used = recipe_of(self.paper.key, number.recipe).inputs
        data = number.scope is Scope.DATA
        differences = [] if self._is_the_papers or data else ["another model"]
        if not all(self.inputs.is_the_papers(name) for name in used):
            differences.append("other data")
        if self.inputs.limit is not None:
            differences.append(f"only {self.inputs.limit} texts")
        return "; ".join(differences) or "the same model and data: not explained"

    @property
    def _is_the_papers(self) -> bool:
        return self.model.name in self.paper.models

    def _summary(self) -> ReproductionSummary:
        described = self.inputs.describe()
        used = {
            name
            for recipe in dict.fromkeys(number.recipe for number in self.numbers if number.recipe)
            for name in recipe_of(self.paper.key, recipe).inputs
        }
        inputs = {
            name: f"{described[name] or 'not here'}, for {one.paper}"
            for name, one in self.paper.inputs.items()
            if name in used
        }
        return ReproductionSummary(
            self.paper.key,
            self.paper.title,
            self.paper.models,
            inputs,
            self.paper.tolerances,
            self.paper.conventions,
            self.paper.open,
        )
