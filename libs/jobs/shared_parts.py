"""Parts of a job that workers of any machine may answer, and that the job answers itself otherwise (design 0049)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from structlog import get_logger

from libs.interchange.job_parts.framing import BYTES_MAX, NotReadable
from libs.jobs.kinds import JobRun
from libs.store.platform import job_parts
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE

log = get_logger(__name__)
Answer = TypeVar("Answer")
Unwanted = Callable[[], bool]
"""A function that returns whether the answer is no longer wanted, so that the solve may end."""
OFFER_AFTER_S = 0.1
"""Seconds that a part waits for a thread before it is offered. To offer a part takes about as long as a short one."""
OFFERED_MAX = 64
"""Largest number of parts that are offered at a time. It bounds the rows of a job, and their memory here."""
_LOOK_S = 0.05
"""Seconds between two looks for answers."""
_AWAY_S = 1.0
"""Seconds to the next look when the database is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[Answer]):
    """A part of a job. Its answer depends on its content alone.

    solve   answers it here
    write   returns its content for a worker
    read    returns the answer that a worker gave; raises NotReadable
    """

    solve: Callable[[Unwanted], Answer]
    write: Callable[[], bytes]
    read: Callable[[bytes], Answer]


@dataclass(slots=True, eq=False)
class _Open:
    """A part that has no answer yet. `begun` and `part_id` change under the lock of SharedParts."""

    part: Part[Any]
    future: Future[Any] = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)
    begun: bool = False
    part_id: int | None = None
    kept_here: bool = False
    """Whether it is too large to offer, or a worker's answer was not readable."""


class SharedParts:
    """Answers parts in threads of this process, and offers those that wait to the workers of jobs of `kind`.

    Use it as a context manager, which withdraws what is still offered. Without a worker or a database all parts are
    answered here.

    wanted_s   seconds for which workers begin the parts of a job that says nothing more
    threads    parts that are answered here at once
    elsewhere  number of parts that workers answered
    """

    def __init__(self, database: Database, kind: str, *, wanted_s: float, threads: int) -> None:
        self._database, self._kind, self._wanted_s = database, kind, wanted_s
        self._lock = threading.Lock()
        self._open: list[_Open] = []
        self._threads = ThreadPoolExecutor(threads, "part")
        self._over = threading.Event()
        self._courier = threading.Thread(target=self._carry, name="parts-courier", daemon=True)
        self._extend_at = 0.0
        self.elsewhere = 0

    def __enter__(self) -> Self:
        self._courier.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._threads.shutdown(cancel_futures=True)
        self._courier.join()
        with suppress(*UNAVAILABLE):  # they are not extended any more, so the scheduler deletes them
            self._drop(self._open)
        if self.elsewhere:
            log.info("parts.shared", kind=self._kind, elsewhere=self.elsewhere)

    def submit(self, part: Part[Answer]) -> Future[Answer]:
        """Return the future answer of `part`."""
        one = _Open(part)
        with self._lock:
            self._open.append(one)
        self._threads.submit(self._turn, one)
        return one.future

    def _turn(self, one: _Open, *, last: bool = False) -> None:
        """Answer a part when its turn comes. If a worker has begun it, let all other parts go first.

        last  whether all others have had their turn, so that this thread would wait otherwise
        """
        if one.future.done():
            return
        if not last and not self._taken(one):
            self._threads.submit(self._turn, one, last=True)
            return
        try:
            answer = one.part.solve(lambda: one.future.done() or self._over.is_set())
        except Exception as error:
            with suppress(InvalidStateError):
                one.future.set_exception(error)
        else:
            self._settle(one, answer)

    def _taken(self, one: _Open) -> bool:
        """Take a part back from the workers. Return False if one has begun it."""
        with self._lock:
            part_id, one.begun = one.part_id, one.part_id is None
        if part_id is None:
            return True
        try:
            with self._database.write() as tx:
                taken = job_parts.withdraw_part(tx, self._kind, part_id)
        except UNAVAILABLE:
            return True
        with self._lock:
            one.begun = taken
            one.part_id = None if taken else part_id
        return taken

    def _settle(self, one: _Open, answer: object) -> bool:
        """Give a part its answer. Return False if it has one."""
        try:
            one.future.set_result(answer)
        except InvalidStateError:
            return False
        return True

    def _carry(self) -> None:
        while not self._over.wait(_LOOK_S):
            try:
                self._offer()
                self._collect()
            except UNAVAILABLE as unavailable:  # the threads go on, and answer all parts
                log.warning("parts.not_carried", kind=self._kind, error=str(unavailable))
                self._over.wait(_AWAY_S)

    def _offer(self) -> None:
        with self._lock:
            offered = sum(one.part_id is not None for one in self._open)
            since = time.monotonic() - OFFER_AFTER_S
            waiting = [
                one
                for one in self._open
                if not (one.begun or one.kept_here or one.future.done()) and one.part_id is None and one.since < since
            ]
        for one in waiting[: OFFERED_MAX - offered]:
            content = one.part.write()
            if len(content) > BYTES_MAX:
                one.kept_here = True
                continue
            with self._database.write() as tx:
                part_id = job_parts.put_part(tx, self._kind, content, wanted_s=self._wanted_s)
            with self._lock:
                one.part_id = part_id  # also if a thread has begun it since: then the next look drops it

    def _collect(self) -> None:
        """Take the answers that there are, withdraw parts that need none, and extend the others."""
        with self._lock:
            offered = [one for one in self._open if one.part_id is not None]
            self._open = [one for one in self._open if one.part_id is not None or not one.future.done()]
        if not offered:
            return
        asked = {one.part_id: one for one in offered if one.part_id is not None and not one.kept_here}
        with self._database.snapshot() as tx:
            answers = job_parts.load_answers(tx, list(asked))
        for part_id, content in answers.items():
            self._read(asked[part_id], content)
        self._drop([one for one in offered if one.begun or one.kept_here or one.future.done()])
        if time.monotonic() >= self._extend_at:
            with self._database.write() as tx:
                job_parts.extend_parts(tx, list(asked), wanted_s=self._wanted_s)
            self._extend_at = time.monotonic() + self._wanted_s / 3

    def _read(self, one: _Open, content: bytes) -> None:
        try:
            answer = one.part.read(content)
        except NotReadable as error:
            log.warning("parts.answer_refused", kind=self._kind, error=str(error))
            one.kept_here = True
            return
        self.elsewhere += self._settle(one, answer)

    def _drop(self, these: list[_Open]) -> None:
        ids = [one.part_id for one in these if one.part_id is not None]
        if not ids:
            return
        with self._database.write() as tx:
            job_parts.drop_parts(tx, self._kind, ids)
        with self._lock:
            for one in these:
                one.part_id = None


def answer_part(run: JobRun, answer: Callable[[bytes, Unwanted], bytes | None]) -> None:
    """Answer the part that is the subject of a job, unless its job has no use for it any more.

    answer   returns the answer to a content; None if it found none in time. Raises NotReadable, and then another
             worker or the job itself answers
    """
    part_id = int(run.job.subject)
    with run.database.snapshot() as tx:
        content = job_parts.load_part(tx, part_id)
    if content is None:
        return
    try:
        found = answer(content, lambda: run.lease.lost)
    except NotReadable as error:
        log.warning("parts.not_readable", job_part_id=part_id, error=str(error))
        return
    if found is not None:
        with run.database.write() as tx:
            job_parts.put_answer(tx, part_id, found)
