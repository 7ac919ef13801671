"""What an analysis is handed: the answers of one site to what it asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from headscope._util.tensors import torch

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model.attention.kinds import Site
    from headscope.model.attention.request import Request
    from headscope.model.attention.view import View


class Best:
    """Largest weights and where they are.

    Attributes:
        value: the largest weight; 0 where there is none.
        place: the key (or query, or place) that has it; -1 where there is none. Worked out when
            it is first read.
    """

    def __init__(self, value: Tensor, place: Tensor | Callable[[], Tensor]) -> None:
        self.value, self._place = value, place

    @cached_property
    def place(self) -> Tensor:
        """Where the largest weight is."""
        return self._place if isinstance(self._place, torch.Tensor) else self._place()


class Answers(Protocol):
    """Answers requests from the attention of one layer."""

    def answer(self, request: Request) -> Any:
        """The answer to a request."""


class Baseline(Protocol):
    """Answers requests for a head that attends to all it sees alike."""

    def uniform(self, request: Request) -> Any:
        """The answer to a request."""


@dataclass(frozen=True)
class Seen:
    """What an analysis asked of a site, answered. Valid until `observe` returns.

    Attributes:
        site: where in the model.
        view: who looks at whom.
        requests: what was asked, by name.
    """

    site: Site
    view: View
    requests: dict[str, Request]
    _answers: Answers
    _baseline: Baseline

    def __getitem__(self, name: str) -> Any:
        """The answer to the request of this name."""
        return self._answers.answer(self.requests[name])

    def __contains__(self, name: object) -> bool:
        return name in self.requests

    def uniform(self, name: str) -> Any:
        """The same answer for one head that knows nothing: it attends to all it sees alike, or
        does what the request's `baseline` says.
        """
        return self._baseline.uniform(self.requests[name])

    def counts(self, name: str) -> Tensor:
        """(example, 1, ...) how many rows are in each of the sums."""
        request = self.requests[name]
        return self.view.once(("counts", request), lambda: request.counts(self.view))
