"""Check messages on the wire, and the folder that carries them."""

import json
import os
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kombu import Connection

from libs.jobs.app import make_celery, queue_of, send
from libs.jobs.folder import LEFT_AFTER_S
from libs.jobs.settings import JobSettings
from tests.libs.jobs.kinds import KINDS


def settings(**values: object) -> JobSettings:
    return JobSettings(**{f"PLIMSOLL_{name}": value for name, value in values.items()})


def test_a_message_is_a_job_id_and_nothing_else(tmp_path: Path) -> None:
    app = make_celery(settings(BROKER_DIR=tmp_path / "queue"))
    send(app, "quick", 42, expires_s=10.0)
    (path,) = (tmp_path / "queue").iterdir()
    message = json.loads(path.read_text())
    assert message["content-type"] == "application/json"
    arguments, keywords, _ = json.loads(b64decode(message["body"]))
    assert (arguments, keywords) == ([42], {})
    expires = datetime.fromisoformat(message["headers"]["expires"])
    assert expires > datetime.now(UTC) + timedelta(seconds=60), "a worker whose clock is a minute ahead takes it"


def test_a_worker_takes_its_kinds_only(tmp_path: Path) -> None:
    app = make_celery(settings(BROKER_DIR=tmp_path), KINDS)
    assert [queue.name for queue in app.conf.task_queues] == [kind.name for kind in KINDS]
    assert {name for name in app.tasks if not name.startswith("celery.")} == {kind.name for kind in KINDS}
    assert app.conf.accept_content == ["json"]
    assert app.conf.result_backend is None


def test_production_goes_through_redis(tmp_path: Path) -> None:
    app = make_celery(settings(BROKER_URL="redis://:secret@broker:6379/0"), KINDS)
    assert app.connection_for_write().transport_cls == "redis"


def test_there_must_be_one_broker(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="PLIMSOLL_BROKER_URL"):
        make_celery(settings())
    with pytest.raises(ValueError, match="PLIMSOLL_BROKER_DIR"):
        make_celery(settings(BROKER_URL="redis://broker", BROKER_DIR=tmp_path))


def test_each_message_in_a_folder_is_taken_once_and_whole(tmp_path: Path) -> None:
    """Two readers and two writers: kombu's own transport lets a reader find half a message."""
    app = make_celery(settings(BROKER_DIR=tmp_path))

    def write(first: int) -> None:
        for i in range(first, first + 100):
            send(app, "quick", i, expires_s=60.0)

    def read(connection: Connection) -> list[int]:
        found: list[int] = []
        channel = connection.channel()
        queue = queue_of("quick")(channel)
        while not (writers_done() and not list(tmp_path.glob("*.msg"))):
            message = queue.get(no_ack=True)
            if message is not None:
                found.append(message.payload[0][0])
        return found

    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, first) for first in (0, 100)]
        writers_done = lambda: all(writer.done() for writer in writing)  # noqa: E731
        reading = [pool.submit(read, app.connection_for_read()) for _ in range(2)]
        taken = [i for reader in reading for i in reader.result()]
    assert sorted(taken) == list(range(200))
    assert list(tmp_path.iterdir()) == []


def test_what_killed_processes_left_in_the_folder_is_removed(tmp_path: Path) -> None:
    """Each poll lists the folder."""
    long_ago = time.time() - 2 * LEFT_AFTER_S
    for name, old in (("a.k.msg.part", True), ("b.k.msg.taken", True), ("c.k.msg.part", False), ("d.k.msg", True)):
        (tmp_path / name).touch()
        if old:
            os.utime(tmp_path / name, (long_ago, long_ago))
    make_celery(settings(BROKER_DIR=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.k.msg.part", "d.k.msg"]
