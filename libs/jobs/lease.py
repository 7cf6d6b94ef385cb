"""A worker's lease of a job: the right to run the job for a limited time. A thread renews it while the job runs."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from structlog import get_logger

from libs.domain.job import Job
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.store.platform.jobs import renew_lease

log = get_logger(__name__)


class LeaseLost(Exception):
    """Another worker or no worker has the lease now. The effects of this attempt are no longer wanted."""


class Lease:
    """The lease of a claimed job. Use it as a context manager: a thread renews it until the block ends."""

    def __init__(self, database: Database, job: Job, *, lease_s: float, heartbeat_s: float) -> None:
        self._database, self._job, self._lease_s = database, job, lease_s
        self._heartbeat_s = min(heartbeat_s, lease_s / 3)
        self._renewed_at = time.monotonic()
        self._lost, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease-{job.job_id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    @property
    def lost(self) -> bool:
        """Return whether the lease is lost, or was not renewed for so long that it must be."""
        return self._lost.is_set() or time.monotonic() - self._renewed_at > self._lease_s

    def check(self) -> None:
        """Check the lease without a query. Raises LeaseLost."""
        if self.lost:
            raise LeaseLost(f"job {self._job.job_id} lost its lease")

    def _beat(self) -> None:
        while not self._over.wait(self._heartbeat_s):
            begun_at = time.monotonic()
            try:
                with self._database.write() as tx:
                    held = renew_lease(tx, self._job, lease_s=self._lease_s)
            except UNAVAILABLE as error:  # the database may be back before the lease expires
                log.warning("lease.not_renewed", job_id=self._job.job_id, error=str(error))
                continue
            if not held:
                log.warning("lease.lost", job_id=self._job.job_id, kind=self._job.kind)
                self._lost.set()
                return
            self._renewed_at = begun_at
