"""The progress of a long job with its course so far, stored for readers of the API, and their requests to cancel it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping

from structlog import get_logger

from libs.jobs.curve import Curve
from libs.store.platform.database import Database, Transaction
from libs.store.platform.errors import UNAVAILABLE

log = get_logger(__name__)

_EACH_S = 1.0
Record = Callable[[Transaction, int, Mapping[str, object]], bool]
"""A function that stores the progress of the run with this id, and returns whether the run should stop."""


class ProgressRecorder:
    """Stores the latest report of a long job and its curve: at most once a second, from a thread of its own, and once
    at the end.

    `cancelled()` returns what the last write learnt, so a solver may call it often.
    """

    def __init__(self, database: Database, run_id: int, record: Record) -> None:
        self._database, self._run_id, self._record = database, run_id, record
        self._latest: dict[str, object] = {"phase": "loading"}
        self._began = time.monotonic()
        self._curve = Curve()
        self._over, self._cancelled = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="job-progress", daemon=True)

    def __enter__(self) -> ProgressRecorder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._store()

    def report(self, phase: str, incumbent: float = math.nan, bound: float = math.nan, gap: float = math.nan) -> None:
        """Report the phase and, as far as they are known, the incumbent, its bound and the gap."""
        known = {"incumbent": incumbent, "bound": bound, "gap": gap}
        self._latest = {"phase": phase, **{name: value for name, value in known.items() if math.isfinite(value)}}
        self._curve.add(time.monotonic() - self._began, phase, incumbent, bound)

    def cancelled(self) -> bool:
        """Return whether cancelling was requested."""
        return self._cancelled.is_set()

    def _run(self) -> None:
        while not self._over.wait(_EACH_S):
            self._store()

    def _store(self) -> None:
        elapsed_s = round(time.monotonic() - self._began, 1)
        progress = {**self._latest, "elapsed_s": elapsed_s, "curve": self._curve.points}
        try:
            with self._database.write() as tx:
                asked_to_stop = self._record(tx, self._run_id, progress)
        except UNAVAILABLE as unavailable:  # a long job outlasts a restart of the database: later writes try again
            log.warning("progress.not_recorded", run_id=self._run_id, error=str(unavailable))
            return
        if asked_to_stop:
            self._cancelled.set()
