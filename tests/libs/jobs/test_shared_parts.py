"""Parts are answered once each: here, or by a worker that takes them; and no job waits for a worker."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest
import sqlalchemy as sa

from libs.domain.job import JobStatus
from libs.interchange.job_parts.framing import NotReadable
from libs.jobs import shared_parts
from libs.jobs.kinds import JobRun
from libs.jobs.lease import Lease
from libs.jobs.shared_parts import Part, SharedParts, Unwanted, answer_part
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.store.platform.job_parts import load_answers, load_part, purge_parts, put_answer, put_part, withdraw_part
from libs.store.platform.jobs import claim_job, finish_job, list_jobs
from libs.store.tables import job_parts
from tests.crash.harness import wait_until

KIND = "square"
LEASE_S = 60.0


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def sharing(database: Database, threads: int = 1) -> SharedParts:
    return SharedParts(database, KIND, wanted_s=LEASE_S, threads=threads)


def square(number: int, here: Callable[[Unwanted], object] = lambda _: None) -> Part[int]:
    """The part that squares `number`. `here` is called when the job itself does so."""

    def solve(unwanted: Unwanted) -> int:
        here(unwanted)
        return number**2

    return Part(solve=solve, write=lambda: str(number).encode(), read=read)


def read(content: bytes) -> int:
    if not content.isdigit():
        raise NotReadable("it is no number")
    return int(content)


def queued(database: Database) -> list[int]:
    with database.snapshot() as tx:
        return [job.job_id for job in list_jobs(tx, status=JobStatus.QUEUED).items]


def claimed(database: Database, job_id: int) -> JobRun:
    with database.write() as tx:
        job = claim_job(tx, job_id, worker="w", lease_s=LEASE_S)
    assert job is not None
    lease = Lease(database, job, lease_s=LEASE_S, heartbeat_s=5.0)
    return JobRun(job=job, database=database, clock=SystemClock(), lease=lease)


def work(database: Database, job_id: int, answer: Callable[[bytes, Unwanted], bytes | None]) -> None:
    run = claimed(database, job_id)
    answer_part(run, answer)
    with database.write() as tx:
        assert finish_job(tx, run.job)


def squared(content: bytes, _: Unwanted) -> bytes:
    return str(int(content) ** 2).encode()


def nothing_left(database: Database) -> bool:
    with database.snapshot() as tx:
        parts: int = tx.execute(sa.select(sa.func.count()).select_from(job_parts)).scalar_one()
    return not parts and not queued(database)


class Gate:
    """Holds the thread of a job until it is opened, or until the answer is no longer wanted."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.entered = threading.Event()

    def __call__(self, unwanted: Unwanted) -> None:
        self.entered.set()
        while not (unwanted() or self._open.wait(0.01)):
            pass

    def open(self) -> None:
        self._open.set()


def offered(database: Database, shared: SharedParts, gate: Gate, *numbers: int) -> list[Future[int]]:
    """Return the futures of a part that holds the only thread, and of offered ones that square `numbers`."""
    futures = [shared.submit(square(0, gate)), *(shared.submit(square(number)) for number in numbers)]
    wait_until(lambda: len(queued(database)) == len(numbers), "the waiting parts are offered")
    assert gate.entered.is_set()
    return futures


def test_without_workers_the_job_answers_all_and_leaves_nothing(database: Database) -> None:
    gate = Gate()
    with sharing(database) as shared:
        futures = offered(database, shared, gate, 1, 2, 3)
        gate.open()
        assert [each.result() for each in futures] == [0, 1, 4, 9]
    assert shared.elsewhere == 0
    assert nothing_left(database)


def test_what_a_thread_begins_at_once_is_never_offered(database: Database) -> None:
    with sharing(database, threads=4) as shared:
        assert [shared.submit(square(number)).result() for number in range(8)] == [n**2 for n in range(8)]
    with database.snapshot() as tx:
        assert not list_jobs(tx).items


def test_workers_answer_while_the_thread_is_busy(database: Database) -> None:
    gate = Gate()
    with sharing(database) as shared:
        first, *others = offered(database, shared, gate, 5, 6)
        for job_id in queued(database):
            work(database, job_id, squared)
        assert [each.result() for each in others] == [25, 36]
        assert not first.done()
        gate.open()
        assert first.result() == 0
        assert shared.elsewhere == 2
    assert nothing_left(database)


def test_a_part_of_a_dead_worker_is_answered_here_last(database: Database) -> None:
    """Its lease has a minute left, and the job does not wait for it."""
    gate, order = Gate(), []
    with sharing(database) as shared:
        futures = [shared.submit(square(0, gate))]
        futures += [shared.submit(square(n, lambda _, n=n: order.append(n))) for n in (7, 8)]
        wait_until(lambda: len(queued(database)) == 2, "they are offered")
        claimed(database, queued(database)[0])
        gate.open()
        assert [each.result() for each in futures] == [0, 49, 64]
    assert order == [8, 7]
    assert nothing_left(database)


def test_the_job_stops_a_part_that_a_worker_answered_first(database: Database) -> None:
    busy, slow = Gate(), Gate()
    with sharing(database) as shared:
        shared.submit(square(0, busy))
        future = shared.submit(square(9, slow))
        wait_until(lambda: len(queued(database)) == 1, "it is offered")
        run = claimed(database, queued(database)[0])
        busy.open()
        assert slow.entered.wait(60.0), "the idle thread began it too"
        answer_part(run, squared)
        assert future.result() == 81
        assert shared.elsewhere == 1
    assert nothing_left(database)


@pytest.mark.parametrize("answer", [b"not a number", None])
def test_a_useless_answer_is_none(database: Database, answer: bytes | None) -> None:
    gate = Gate()
    with sharing(database) as shared:
        futures = offered(database, shared, gate, 3)
        work(database, queued(database)[0], lambda *_: answer)
        gate.open()
        assert [each.result() for each in futures] == [0, 9]
        assert shared.elsewhere == 0
    assert nothing_left(database)


def test_a_content_that_a_worker_cannot_read_is_left_to_others(database: Database) -> None:
    def refuse(*_: object) -> bytes:
        raise NotReadable("it is of version 0.0.0")

    with database.write() as tx:
        part_id = put_part(tx, KIND, b"3", wanted_s=LEASE_S)
    work(database, queued(database)[0], refuse)
    with database.snapshot() as tx:
        assert load_part(tx, part_id) == b"3"
        assert not load_answers(tx, [part_id])


def test_an_error_reaches_whoever_asked(database: Database) -> None:
    def fail(_: Unwanted) -> None:
        raise ArithmeticError("as told")

    with sharing(database) as shared, pytest.raises(ArithmeticError, match="as told"):
        shared.submit(square(1, fail)).result()


def test_a_large_part_stays_here(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_parts, "BYTES_MAX", 3)
    gate = Gate()
    with sharing(database) as shared:
        futures = [shared.submit(square(0, gate)), shared.submit(square(12_345)), shared.submit(square(2))]
        wait_until(lambda: len(queued(database)) == 1, "the small one is offered")
        work(database, queued(database)[0], squared)
        assert futures[2].result() == 4
        gate.open()
        assert futures[1].result() == 12_345**2
        assert shared.elsewhere == 1


def test_no_more_are_offered_than_allowed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_parts, "OFFERED_MAX", 2)
    gate = Gate()
    with sharing(database) as shared:
        futures = [shared.submit(square(number, gate)) for number in range(6)]
        wait_until(lambda: len(queued(database)) == 2, "two are offered")
        work(database, queued(database)[0], squared)
        wait_until(lambda: len(queued(database)) == 2, "the next one is offered")
        gate.open()
        assert [each.result() for each in futures] == [n**2 for n in range(6)]
    assert nothing_left(database)


def test_without_a_database_the_job_answers_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_parts, "OFFER_AFTER_S", 0.0)
    nowhere = Database("postgresql://nobody@127.0.0.1:1/none", pool_size=1)
    with sharing(nowhere) as shared:
        futures = [shared.submit(square(number)) for number in range(5)]
        assert [each.result() for each in futures] == [n**2 for n in range(5)]
    nowhere.close()


def test_workers_pass_over_the_parts_of_a_dead_job(database: Database) -> None:
    with database.write() as tx:
        dead, alive = (put_part(tx, KIND, b"3", wanted_s=wanted_s) for wanted_s in (-1.0, LEASE_S))
    for job_id in queued(database):
        work(database, job_id, squared)
    with database.write() as tx:
        assert load_answers(tx, [dead, alive]) == {alive: b"9"}
        assert purge_parts(tx) == 1
        assert load_answers(tx, [dead, alive]) == {alive: b"9"}


def test_the_first_answer_counts(database: Database) -> None:
    with database.write() as tx:
        part_id = put_part(tx, KIND, b"3", wanted_s=LEASE_S)
        assert put_answer(tx, part_id, b"9")
        assert not put_answer(tx, part_id, b"10")
        assert load_answers(tx, [part_id]) == {part_id: b"9"}
        assert withdraw_part(tx, KIND, part_id)
        assert not withdraw_part(tx, KIND, part_id)
