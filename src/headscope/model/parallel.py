"""Running a model in two threads, on two replicas that share their weights.

Short texts leave cores idle between the many small operations of a layer. Two replicas that read
different batches, each with half of the threads, fill each other's gaps. Since the weights are
shared, the second replica costs only the memory of its batch and of its tallies.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import torch
from transformers import PreTrainedModel

from headscope._util.interrupt import raise_if_interrupted
from headscope.model.hooks.head_outputs import is_attended
from headscope.model.hooks.tap import lock_of
from headscope.model.model import Model

THREAD_SAFE = "transformers.utils.output_capturing"
"""Where the hooks are made that stay in a network once its attentions or hidden states were asked
for; each thread has its own record of outputs.
"""
Item = TypeVar("Item")
Worker = TypeVar("Worker")
Result = TypeVar("Result")


def replicas_of(model: Model) -> list[Model]:
    """The model and, where that is of use, a second one that shares its weights.

    There is no second one on a GPU, with a single thread, or if the network has hooks (a model
    that is being observed or has heads switched off), since hooks need not be thread-safe. Those
    by which transformers returns attentions and hidden states are.

    >>> from headscope.model import load
    >>> model = load("minilm")
    >>> all(replica.network.dtype is model.network.dtype for replica in replicas_of(model))
    True
    """
    network = model.network
    if network.device.type != "cpu" or torch.get_num_threads() < 2:
        return [model]
    with lock_of(network):
        if _in_use(network):
            return [model]
        shared = {id(tensor): tensor for tensor in (*network.parameters(), *network.buffers())}
        replica = replace(model, network=copy.deepcopy(network, shared), with_top=None)
    replica.token_roles = model.token_roles  # a token that one has decoded serves both
    return [model, replica]


def _in_use(network: PreTrainedModel) -> bool:
    hooks = (
        hook
        for module in network.modules()
        for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
    )
    return is_attended(network) or any(
        getattr(hook, "__module__", "") != THREAD_SAFE for hook in hooks
    )


@dataclass(frozen=True)
class WorkItems(Generic[Item]):
    """The items that one worker processes; iteration ends early if another worker has failed."""

    items: list[Item]
    stop: threading.Event = field(default_factory=threading.Event)

    def __iter__(self) -> Iterator[Item]:
        for item in self.items:
            raise_if_interrupted()
            if self.stop.is_set():
                raise CancelledError
            yield item


def map_parallel(
    workers: Sequence[Worker],
    items: Sequence[Item],
    work: Callable[[Worker, WorkItems[Item]], Result],
) -> list[Result]:
    """Deal items out to workers in turn, run each worker in a thread, and return their results.

    Which worker gets which item depends only on the order of the items, so results are
    reproducible. If a worker fails, the others stop and its error is raised.

    >>> map_parallel(["a", "b"], [1, 2, 3], lambda worker, numbers: (worker, sum(numbers)))
    [('a', 4), ('b', 2)]
    """
    workers = workers[: max(1, len(items))]
    if len(workers) == 1:
        return [work(workers[0], WorkItems(list(items)))]
    stop, threads = threading.Event(), torch.get_num_threads()

    def run(number: int) -> Result:
        torch.set_num_threads(max(1, threads // len(workers)))
        try:
            return work(workers[number], WorkItems(list(items[number :: len(workers)]), stop))
        except BaseException:
            stop.set()
            raise

    try:
        with ThreadPoolExecutor(len(workers)) as pool:
            futures = [pool.submit(run, number) for number in range(len(workers))]
            return _results(futures, stop)
    finally:
        torch.set_num_threads(threads)


def _results(futures: Sequence[Future[Result]], stop: threading.Event) -> list[Result]:
    """The results of all workers, or the error of the one that failed first by its own fault."""
    try:
        errors = [future.exception() for future in futures]
    finally:
        stop.set()  # if this thread was interrupted, the workers stop as well
    for error in errors:
        if error is not None and not isinstance(error, CancelledError):
            raise error
    return [future.result() for future in futures]
