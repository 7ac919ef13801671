"""What a head is: the rules by which it earns a role, and the roles that heads earn.

A rule names a statistic, the threshold that its value must pass, and who set it. It is not the
value that has to pass but the evidence for it: a head has a role where the test that its value is
above the threshold is passed after correction over all heads and groups of the rule, and where the
statistic's own test against its baseline is passed too. A head may have several roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from headscope._util.naming import head_name
from headscope.evidence.interval import corrected
from headscope.report.numbers import SURE, interval, number, sure
from headscope.runs import Results, rows_of

Row = dict[str, Any]
CLARK, KOVALEVA, VOITA = "Clark et al. 2019", "Kovaleva et al. 2019", "Voita et al. 2019"
LENS, OURS = "TransformerLens's head detector", "ours"

DIRECTIONS = {
    "row": "the dependent looking at its head",
    "column": "its head looking at the dependent more than others do",
    "head-row": "the head looking at a dependent",
}


@dataclass(frozen=True)
class Rule:
    """How a head earns a role.

    Attributes:
        name: of the role; words: what such a head does, with {value}, {group} and {direction}.
        analysis, statistic, direction: which number; direction "any": of any.
        groups: of which groups; empty: of any but those that are `nameless`.
        threshold: what the value must be above; margin: how far above the baseline at least.
        confirmed_by: another statistic of the analysis whose test must be passed instead.
        source: who set the threshold.
    """

    name: str
    words: str
    analysis: str
    statistic: str
    threshold: float
    source: str
    groups: tuple[str, ...] = ()
    direction: str | None = None
    margin: float = 0.0
    confirmed_by: str | None = None
    nameless: tuple[str, ...] = ()
    unit: str = "share"


RULES = (
    Rule("syntactic",
         "joins the words of {group}, {direction}, {value} better than the best fixed offset",
         "dependencies", "gain", 0.10, VOITA, direction="any", confirmed_by="accuracy",
         nameless=("all", "punct"), unit="points"),
    Rule("linking", "joins linked words ({group}, {direction}) {value} better than the best offset",
         "links", "gain", 0.10, VOITA, direction="any", confirmed_by="accuracy",
         nameless=("all",), unit="points"),
    Rule("coreferent",
         "of all earlier mentions looks most at an antecedent in {value} of cases ({group})",
         "coreference", "accuracy", 0.5, OURS, margin=0.05),
    Rule("frame",
         "its largest weight between a frame element and the word that evokes the frame is "
         "{value} on average",
         "frames", "largest", 0.1, OURS, margin=0.1),
    Rule("rare words", "looks most at one of the two rarest words of the text in {value} of cases",
         "rare_words", "share", 0.5, f"{OURS}, after {VOITA}", ("two rarest",), margin=0.25),
    Rule("positional", "looks, specials left out, most at the token at {group} in {value} of cases",
         "offset_argmax", "share", 0.9, VOITA),
    Rule("previous token", "puts {value} of its attention on the token before",
         "relative_position", "weight", 0.5, CLARK, ("-1",)),
    Rule("next token", "puts {value} of its attention on the token after",
         "relative_position", "weight", 0.5, CLARK, ("+1",)),
    Rule("same token", "puts {value} of its attention on the token itself",
         "relative_position", "weight", 0.5, CLARK, ("0",)),
    Rule("first token", "rests on the first token with {value} of its attention",
         "special_tokens", "mass", 0.5, f"{OURS}, after {CLARK}", ("first",), "from all"),
    Rule("separator", "rests on separators with {value} of its attention",
         "special_tokens", "mass", 0.5, f"{OURS}, after {CLARK}", ("separator",), "from all"),
    Rule("punctuation", "puts {value} of its attention on punctuation",
         "special_tokens", "mass", 0.5, f"{OURS}, after {CLARK}", ("punctuation",), "from all"),
    Rule("broad", "looks everywhere: its entropy is {value} of the largest possible",
         "focus", "entropy_relative", 0.9, f"{OURS}, after {CLARK}"),
    Rule("vertical", "shows columns in {value} of its maps",
         "patterns", "shape", 0.5, f"{OURS}, after {KOVALEVA}", ("vertical",)),
    Rule("diagonal", "shows diagonals in {value} of its maps",
         "patterns", "shape", 0.5, f"{OURS}, after {KOVALEVA}", ("diagonal",)),
    Rule("vertical+diagonal", "shows columns and diagonals in {value} of its maps",
         "patterns", "shape", 0.5, f"{OURS}, after {KOVALEVA}", ("vertical+diagonal",)),
    Rule("block", "stays within each sentence of a pair in {value} of its maps",
         "patterns", "shape", 0.5, f"{OURS}, after {KOVALEVA}", ("block",)),
    Rule("matching", "looks at tokens' twins in the other sentence in {value} of its maps",
         "patterns", "matching", 0.5, OURS),
    Rule("decoder", "on tokens that come twice, puts {value} of its attention on {group}",
         "repetition", "weight", 0.4, f"{OURS}, after {LENS}", nameless=("first",)),
)  # fmt: skip
"""Roles, the more telling ones first."""


@dataclass(frozen=True)
class Role:
    """A role that a head has, with its evidence: the row of heads.parquet, and the corrected
    p-value of being above the threshold.
    """

    rule: Rule
    row: Row
    q: float

    @property
    def place(self) -> tuple[int, int]:
        """Layer and head."""
        return self.row["layer"], self.row["head"]

    @property
    def what(self) -> str:
        """The group and the number, in short: `det row +21.0 pt`."""
        words = [self.row["group"], self.row["direction"] if self.rule.direction == "any" else None,
                 number(self.row["value"], self.rule.unit)]  # fmt: skip
        return " ".join(word for word in words if word)

    @property
    def sentence(self) -> str:
        """What the head does, with the evidence for it."""
        rule, row = self.rule, self.row
        value = f"{number(row['value'], rule.unit)} {interval(row, rule.unit)}"
        direction = row["direction"]
        if rule.analysis == "dependencies":
            direction = DIRECTIONS[row["direction"]]
        words = rule.words.format(group=row["group"], direction=direction, value=value)
        known = row["baseline"] is not None and rule.unit != "points"
        baseline = f"; baseline {number(row['baseline'], rule.unit)}" if known else ""
        least = number(rule.threshold, rule.unit).lstrip("+")
        chance = "q < .001" if self.q < 0.001 else f"q = {self.q:.3f}"
        return f"{words} (at least {least}: {rule.source}, {chance}{baseline})"


def roles(results: Results, corpus: str, weights: str = "trained") -> list[Role]:
    """The roles of heads on a corpus, rule by rule, the clearest first."""
    return [role for rule in RULES for role in _earned(rule, results, corpus, weights)]


def _earned(rule: Rule, results: Results, corpus: str, weights: str) -> list[Role]:
    place = {"corpus": corpus, "weights": weights, "analysis": rule.analysis}
    rows = [row for row in rows_of(results.heads, statistic=rule.statistic, **place)
            if _asked(rule, row)]  # fmt: skip
    freedom = _freedom(results, corpus, weights)
    tested = [(row, _chance(rule, row, freedom)) for row in rows]
    known = [(row, p) for row, p in tested if p is not None]
    if not known:
        return []
    confirmed = set()
    if rule.confirmed_by:
        others = rows_of(results.heads, statistic=rule.confirmed_by, **place)
        confirmed = {_cell(row) for row in others if sure(row)}
    found = [
        Role(rule, row, float(q))
        for (row, _), q in zip(known, corrected(np.array([p for _, p in known])), strict=True)
        if q < SURE
        and (_cell(row) in confirmed if rule.confirmed_by else row["q"] is None or sure(row))
    ]
    return sorted(found, key=lambda role: -role.row["value"])


def _asked(rule: Rule, row: Row) -> bool:
    """Whether a row is one that the rule is about."""
    direction = rule.direction in ("any", row["direction"])
    group = row["group"] in rule.groups if rule.groups else row["group"] not in rule.nameless
    return row["head"] is not None and direction and group


def _freedom(results: Results, corpus: str, weights: str) -> float:
    """The degrees of freedom of intervals on a corpus: its groups of documents, less one."""
    for one in results.record["corpora"]:
        if (one["corpus"], one["weights"]) == (corpus, weights):
            return float(max(1, one["buckets"] - 1))
    return float("inf")


def _chance(rule: Rule, row: Row, freedom: float) -> float | None:
    """The one-sided p of a value that is not above the threshold, by its interval's lower half;
    None where there are too few documents for an interval.
    """
    if row["low"] is None or row["value"] is None:
        return None
    least = rule.threshold
    if rule.margin:
        least = max(least, (row["baseline"] or 0.0) + rule.margin)
    error = max(row["value"] - row["low"], 1e-9) / stats.t.ppf(0.975, freedom)
    return float(stats.t.sf((row["value"] - least) / error, freedom))


def _cell(row: Row) -> tuple[Any, ...]:
    return row["group"], row["direction"], row["layer"], row["head"]


@dataclass(frozen=True)
class Label:
    """A role of a head, and what it earned it by, best first."""

    name: str
    head: str
    evidence: tuple[str, ...]

    @property
    def short(self) -> str:
        """The name with the two best reasons.

        >>> Label("syntactic", "L2.H8", ("det row +21.0 pt", "aux row +15.0 pt", "cop row")).short
        'syntactic (det row +21.0 pt, aux row +15.0 pt and 1 more)'
        """
        more = f" and {len(self.evidence) - 2} more" if len(self.evidence) > 2 else ""
        return f"{self.name} ({', '.join(self.evidence[:2])}{more})"


def labelled(found: list[Role]) -> list[Label]:
    """Roles by name and head."""
    earned: dict[tuple[str, str], list[str]] = {}
    for role in found:
        earned.setdefault((role.rule.name, head_name(*role.place)), []).append(role.what)
    return [Label(name, head, tuple(some)) for (name, head), some in earned.items()]
