from datetime import date

import pytest

from services.standalone.postgres_age import age_note


@pytest.mark.parametrize(
    ("version", "today", "says"),
    [
        ("18.4", date(2026, 11, 22), None),
        ("18.4", date(2027, 12, 1), "lacks security releases"),
        ("18.0", date(2026, 8, 1), "lacks security releases"),
        ("16.14", date(2027, 6, 1), None),
        ("16.14", date(2028, 9, 25), "no security releases any more"),
    ],
)
def test_an_old_server_is_said_to_be_old(version: str, today: date, says: str | None) -> None:
    note = age_note(version, today)
    assert (note is None) if says is None else (note is not None and says in note)
