"""Worker processes: the same work as in this process, in order, whatever becomes of a worker.

The workers are forked from a server process that has computed nothing (`forkserver`). Forking this process itself
would be quicker, but it may have run OpenMP or a tokenizer's threads, whose locks a forked child inherits as they were:
such a child can wait for ever. The server starts in the background and imports what this process has imported,
OpenCompass included; until it is there, the work is done here, so that nobody waits for it.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import threading

# What `multiprocessing` raises for what it cannot send; nothing is pickled here.
from _pickle import PicklingError
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

State = TypeVar('State')
Item = TypeVar('Item')
Result = TypeVar('Result')

MAX_RESTARTS: Final = 3
"""How often dead workers are replaced; after that, the work is done in this process."""

AHEAD: Final = 20
"""Pieces of work that wait for their turn, beside those that the workers have."""

logger = logging.getLogger(__name__)
# What a worker works with; set once in each.
_state: Any = None


def available_cores() -> int:
    """The cores that this process may use, at least 1."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_workers(workers: int) -> int:
    """How many worker processes are meant: 0 means one for each core that this process may use.

    Raises:
        ValueError: If the number is negative, or no whole number.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise ValueError(f'expected `workers` to be a whole number of at least 0, got {workers!r}')
    return workers or available_cores()


def may_have_children() -> bool:
    """Whether this process may start others: a daemonic one, such as a worker of `multiprocessing.Pool`, may not."""
    return not multiprocessing.current_process().daemon


@dataclass(slots=True)
class _Call(Generic[State, Item, Result]):
    """A piece of work; `future` and `executor` where a worker has it."""

    work: Callable[[State, Item], Result]
    item: Item
    future: Future[Result] | None = None
    executor: ProcessPoolExecutor | None = None


class Workers(Generic[State]):
    """Worker processes that share a state; a context manager.

    Args:
        state: What every piece of work needs; sent to each worker once.
        count: How many processes, at least 1.
        preload: Modules that the server imports before it forks the first worker.
    """

    def __init__(self, state: State, count: int, *, preload: Iterable[str] = ()) -> None:
        self._state = state
        self._count = count
        self._preload = list(preload)
        self._executor: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._restarts = 0

    def __enter__(self) -> Workers[State]:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._closed = True
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(cancel_futures=True)

    def map(self, work: Callable[[State, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do a piece of work for every item; several maps may run at a time.

        Args:
            work: A function of a module, called with the state and an item. What it raises is raised here.
            items: Read as far ahead as the workers need it.

        Returns:
            The results in the items' order. What a worker that died had not finished is done here.
        """
        waiting: deque[_Call[State, Item, Result]] = deque()
        for item in items:
            waiting.append(_Call(work, item))
            self._hand_out(waiting)
            if len(waiting) >= AHEAD + 2 * self._count:
                yield self._next(waiting)
        while waiting:
            self._hand_out(waiting)
            yield self._next(waiting)

    def _hand_out(self, waiting: deque[_Call[State, Item, Result]]) -> None:
        executor = self._executor
        if executor is None:
            return
        for call in waiting:
            if call.future is None:
                try:
                    call.future = executor.submit(_do, call.work, call.item)
                except (BrokenProcessPool, OSError) as error:
                    self._replace(executor, error)
                    return
                call.executor = executor

    def _next(self, waiting: deque[_Call[State, Item, Result]]) -> Result:
        call = waiting.popleft()
        if call.future is not None:
            try:
                return call.future.result()
            except BrokenProcessPool as error:
                self._replace(call.executor, error)
        return call.work(self._state, call.item)

    def _replace(self, broken: ProcessPoolExecutor | None, error: Exception) -> None:
        with self._lock:
            if broken is None or broken is not self._executor:
                return
            self._executor = None
        broken.shutdown(wait=False, cancel_futures=True)
        self._restarts += 1
        again = self._restarts <= MAX_RESTARTS
        what = 'others are started' if again else 'the rest is scored in this process'
        logger.warning('a worker process died (%s); what it had is scored in this process, and %s', error, what)
        if again:
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._open, name='start of worker processes', daemon=True).start()

    def _open(self) -> None:
        """Start the processes; takes as long as the imports do."""
        try:
            # Found out before a process is started for it.
            ForkingPickler.dumps(self._state)
            context = _context(self._preload)
            if self._closed:
                return
            executor = ProcessPoolExecutor(self._count, context, initializer=_begin, initargs=(self._state,))
            executor.submit(int).result()
        except (BrokenProcessPool, PicklingError, OSError, AttributeError, TypeError, RuntimeError) as error:
            logger.warning('no worker process can be started: %s: %s; this one scores all', type(error).__name__, error)
            return
        with self._lock:
            if not self._closed:
                self._executor = executor
                return
        executor.shutdown(wait=False)


def _context(preload: Sequence[str]) -> BaseContext:
    if 'forkserver' not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context('spawn')
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(['__main__', *preload])
    # The first process waits for the server's imports. Whoever is done before that leaves it behind.
    first = context.Process(target=int, daemon=True)
    first.start()
    first.join()
    return context


def _begin(state: object) -> None:
    global _state  # noqa: PLW0603 - a worker has one state for its life
    _state = state
    # For the life of the worker: see `scoring.collector`.
    gc.freeze()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when the process that it works for is killed: its queue would never end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do(work: Callable[[Any, Item], Result], item: Item) -> Result:
    return work(_state, item)
