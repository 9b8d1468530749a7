"""Further sites, on which cases that take their time are judged while the others go on.

Such a case is begun on the guess that its prerequisites will pass; where one does not, what the
annex has found out is not asked for.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from contextlib import ExitStack

from pytest_dra.bench import Bench
from pytest_dra.outcome import BenchError
from pytest_dra.outcome import Outcome
from pytest_dra.site import Site

CASE_LIMIT_S = 3600.0
"""Longest wait for a case: far beyond the sum of all budgets, which bound it by themselves."""

JOIN_S = 5.0
"""Longest wait for a case that nobody asks for any more, once its driver has been ended."""

Judge = Callable[[str, Site], Outcome]


class Annexes:
    """See the module.

    Args:
        count: how many sites; 0 for none, so that nothing is ever begun.
        new: makes a site; nothing is started by that.
        judge: judges a case, by its id, on a site.
        fits: starts the driver of a site, and says whether one can run there beside the others.
        wanted: says whether anybody will ask for a case, as far as is known by then.
    """

    def __init__(
        self,
        count: int,
        new: Callable[[], Site],
        judge: Judge,
        *,
        fits: Callable[[Site], bool],
        wanted: Callable[[str], bool],
    ) -> None:
        self._count = count
        self._new = new
        self._judge = judge
        self._fits = fits
        self._wanted = wanted
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._found: dict[str, Future[Outcome | None]] = {}
        self._sites: list[Site] = []
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self._unfit = threading.Event()

    def begin(self, ids: Sequence[str]) -> None:
        """Begin to judge these cases, in this order; returns at once."""
        if self._count <= 0:
            return
        fresh = [id for id in ids if id not in self._found]
        for id in fresh:
            self._found[id] = Future()
            self._waiting.put(id)
        for _ in range(min(self._count - len(self._threads), len(fresh))):
            site = self._new()
            name = f"annex-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._work, args=(site,), name=name, daemon=True)
            self._sites.append(site)
            self._threads.append(thread)
            thread.start()

    def has_begun(self, id: str) -> bool:
        """True if the case is judged here."""
        return id in self._found

    def benches(self) -> list[Bench]:
        """The benches on which cases were judged so far."""
        found = [site.begun for site in self._sites]
        return [bench for bench in found if bench is not None]

    def outcome(self, id: str) -> Outcome | None:
        """Wait for a case that was begun; None if it was not, or cannot be judged here.

        Raises:
            BenchError: it does not end.
        """
        if id not in self._found:
            return None
        try:
            return self._found[id].result(CASE_LIMIT_S)
        except StillRunning as error:
            raise BenchError(f"{id} has not ended after {CASE_LIMIT_S:g} s") from error

    def close(self) -> None:
        """End all sites, and what is judged on them."""
        self._closing.set()
        for _ in self._threads:
            self._waiting.put(None)
        with ExitStack() as stack:
            for site in self._sites:
                stack.callback(site.close)
            for thread in self._threads:
                stack.callback(thread.join, JOIN_S)
            for site in self._sites:
                stack.callback(site.close)

    def _work(self, site: Site) -> None:
        ids = self._taken()
        for id in ids:
            try:
                if not self._unfit.is_set() and site.begun is None and not self._fits(site):
                    self._unfit.set()
                    site.close()
                wanted = not self._unfit.is_set() and self._wanted(id)
                self._found[id].set_result(self._judge(id, site) if wanted else None)
            except BaseException as error:
                self._found[id].set_exception(error)

    def _taken(self) -> Iterator[str]:
        """The cases that this thread is to judge, one at a time."""
        while True:
            id = self._waiting.get()
            if id is None or self._closing.is_set():
                return
            yield id
