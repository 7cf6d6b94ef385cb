"""Old audit entries are in a file before they leave the table, and no younger one leaves it."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import FORGET_AUDIT
from libs.store.platform import audit
from libs.store.platform.database import Database
from services.portal.reconcilers.forget_audit import ForgetAudit
from services.portal.tasks import JOBS


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database without entries."""
    database = Database(database_url)
    yield database
    database.close()


def put(database: Database, ages: list[int]) -> None:
    """Add entries of these ages in days; the subject's id is the age."""
    with database.write() as tx:
        for age in ages:
            now = datetime.now(UTC) - timedelta(days=age)
            audit.append(
                tx, actor="olga", action="import", subject_kind="region", subject_id=age, now=now, after={"é": age}
            )


def forget(database: Database, folder: Path, kept_days: int = 400) -> int:
    return ForgetAudit(database, SystemClock(), folder, kept_days, batch=2).reconcile()


def left(database: Database) -> list[int]:
    with database.snapshot() as tx:
        return [entry.subject_id for entry in audit.list_entries(tx).items]


def exported(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for file in sorted(folder.iterdir()) for line in gzip.open(file, "rt", encoding="utf-8")]


def test_old_entries_go_to_files_and_no_others(database: Database, tmp_path: Path) -> None:
    put(database, [500, 450, 399, 420, 10, 410, 401])
    with database.snapshot() as tx:
        known = audit.list_entries(tx).items
    assert forget(database, tmp_path / "audit") == 5
    assert left(database) == [399, 10]
    found = exported(tmp_path / "audit")
    assert [entry["subject_id"] for entry in found] == [500, 450, 420, 410, 401]
    assert datetime.fromisoformat(str(found[0]["at"])) == known[0].at
    assert found[0]["after"] == {"é": 500}
    assert forget(database, tmp_path / "audit") == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "audit").iterdir())


def test_without_a_file_nothing_is_deleted(database: Database, tmp_path: Path) -> None:
    put(database, [500, 450])
    (tmp_path / "audit").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="audit"):
        forget(database, tmp_path / "audit")
    assert left(database) == [500, 450]


def test_entries_of_a_batch_that_was_cut_off_are_exported_again(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the file and the commit."""
    put(database, [500, 450])
    monkeypatch.setattr("libs.store.retention.of_audit.sa.text", _dies_on_delete)
    with pytest.raises(KeyboardInterrupt):
        forget(database, tmp_path)
    monkeypatch.undo()
    assert left(database) == [500, 450]
    assert forget(database, tmp_path) == 2
    assert [entry["subject_id"] for entry in exported(tmp_path)] == [500, 450], "the same file"


def _dies_on_delete(statement: str, text=sa.text):
    if "forget_audit_entries" in statement:
        raise KeyboardInterrupt
    return text(statement)


def test_a_clock_that_is_years_ahead_deletes_nothing_of_the_last_month(database: Database, tmp_path: Path) -> None:
    class Ahead:
        def now(self) -> datetime:
            return datetime.now(UTC) + timedelta(days=4000)

    put(database, [31, 29])
    assert ForgetAudit(database, Ahead(), tmp_path, 400).reconcile() == 1  # type: ignore[arg-type]
    assert left(database) == [29]


def test_the_audit_trail_cannot_be_rewritten_nor_deleted_by_accident(database: Database) -> None:
    put(database, [500])
    for statement in ("DELETE FROM audit_entries", "UPDATE audit_entries SET actor = 'nobody'"):
        with database.write() as tx, pytest.raises(sa.exc.IntegrityError, match="append-only"):
            tx.execute(sa.text(statement))
    with database.write() as tx:
        tx.execute(sa.text("SELECT forget_audit_entries('{}')"))
        with pytest.raises(sa.exc.IntegrityError, match="append-only"):
            tx.execute(sa.text("DELETE FROM audit_entries"))


def test_a_worker_of_the_portal_does_it_and_reads_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FORGET_AUDIT in {kind.name for kind in JOBS.kinds}
    monkeypatch.setenv("PLIMSOLL_AUDIT_KEPT_DAYS", "29")
    with pytest.raises(ValueError, match="PLIMSOLL_AUDIT_KEPT_DAYS"):
        JOBS.read_settings()
