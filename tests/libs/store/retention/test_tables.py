"""Every table has a retention or a reason to have none, and the page of operators says so."""

from pathlib import Path

from libs.reconcile.jobs import FORGET_AUDIT, FORGET_HISTORY, FORGET_PLANNING, LOOPS
from libs.store.retention.of_planning import OF_WORLD, of_planning
from libs.store.retention.of_regions import of_region
from libs.store.retention.tables import TABLES, Forgotten, GoesWith, Stays, as_markdown
from libs.store.tables import metadata

PAGE = Path(__file__).parents[4] / "docs" / "retention.md"


def deleted_by(job: str) -> set[str]:
    return {table for table, kept in TABLES.items() if isinstance(kept, Forgotten) and kept.by == job}


def test_every_table_is_in_the_list_and_the_list_has_no_other() -> None:
    missing = set(metadata.tables) - set(TABLES)
    assert not missing, f"say in libs/store/retention/tables.py what is kept of {sorted(missing)}, or why all of it"
    assert not set(TABLES) - set(metadata.tables)


def test_a_reason_or_a_parent_or_a_job_is_named() -> None:
    for table, kept in TABLES.items():
        match kept:
            case Stays():
                assert kept.why, table
            case GoesWith():
                assert kept.table in TABLES, table
                assert kept.table != table
            case Forgotten():
                assert kept.by in {*LOOPS, "scheduler"}, table
                assert kept.after, table


def test_the_jobs_delete_from_what_the_list_says() -> None:
    assert set(of_region("west")) == deleted_by(FORGET_HISTORY)
    assert set(of_planning(8)) | set(OF_WORLD) == deleted_by(FORGET_PLANNING)
    assert deleted_by(FORGET_AUDIT) == {"audit_entries"}


def test_operators_read_the_same_list() -> None:
    assert as_markdown() in PAGE.read_text(), f"put this table into {PAGE}:\n{as_markdown()}"
