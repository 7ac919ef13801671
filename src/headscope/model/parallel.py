"""A crew: a model twice over, with the same weights, each in a thread of its own.

Short texts leave cores idle between the many small steps of a layer. Two that read different
batches, each with half of the threads, fill each other's gaps. The weights are shared, so the
second costs the memory of one batch at work and of its tallies.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import torch
from transformers import PreTrainedModel

from headscope._util.interrupt import heed
from headscope.model.hooks.head_outputs import OURS
from headscope.model.hooks.tap import lock_of
from headscope.model.loading import Model

Item = TypeVar("Item")
Member = TypeVar("Member")
Result = TypeVar("Result")


def crew_of(model: Model) -> list[Model]:
    """The model, and where two can work at a time another with the same weights.

    Two cannot on a GPU, with a single thread, or where somebody has hooks in the network (a model
    that is being watched or has heads off): hooks need not bear two threads.

    >>> from headscope.model import load
    >>> one = load("minilm")
    >>> all(other.network.dtype is one.network.dtype for other in crew_of(one))
    True
    """
    network = model.network
    if network.device.type != "cpu" or torch.get_num_threads() < 2:
        return [model]
    with lock_of(network):
        if _in_use(network):
            return [model]
        weights = {id(one): one for one in (*network.parameters(), *network.buffers())}
        other = replace(model, network=copy.deepcopy(network, weights), headed=None)
    other.roles = model.roles  # what is known of one token is known of it to both
    return [model, other]


def _in_use(network: PreTrainedModel) -> bool:
    routed = str(network.config._attn_implementation).startswith(OURS)
    hooks = (one._forward_hooks or one._forward_pre_hooks for one in network.modules())
    return routed or any(hooks)


@dataclass(frozen=True)
class Hand(Generic[Item]):
    """What one member of a crew is to do; going through it ends where the others failed."""

    items: list[Item]
    stop: threading.Event = field(default_factory=threading.Event)

    def __iter__(self) -> Iterator[Item]:
        for item in self.items:
            heed()
            if self.stop.is_set():
                raise CancelledError
            yield item


def share(
    members: Sequence[Member],
    items: Sequence[Item],
    work: Callable[[Member, Hand[Item]], Result],
) -> list[Result]:
    """Deal items out in turn and have each member work on its hand; results as members stand.

    Who gets what depends on nothing but the order of the items, so results are always the same.

    >>> share(["a", "b"], [1, 2, 3], lambda member, hand: (member, sum(hand)))
    [('a', 4), ('b', 2)]
    """
    members = members[: max(1, len(items))]
    if len(members) == 1:
        return [work(members[0], Hand(list(items)))]
    stop, threads = threading.Event(), torch.get_num_threads()

    def one(place: int) -> Result:
        torch.set_num_threads(max(1, threads // len(members)))
        try:
            return work(members[place], Hand(list(items[place :: len(members)]), stop))
        except BaseException:
            stop.set()
            raise

    try:
        with ThreadPoolExecutor(len(members)) as pool:
            futures = [pool.submit(one, place) for place in range(len(members))]
            try:
                errors = [future.exception() for future in futures]
            finally:
                stop.set()  # whatever is still at work has been given up
        for error in errors:
            if error is not None and not isinstance(error, CancelledError):
                raise error
        return [future.result() for future in futures]
    finally:
        torch.set_num_threads(threads)
