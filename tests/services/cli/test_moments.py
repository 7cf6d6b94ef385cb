"""A typed time means the same moment with any offset."""

from datetime import UTC, datetime

import pytest

from services.cli.failure import CliFailure
from services.cli.moments import moment
from services.cli.specs import spec_of


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2026-12-20", 0),
        ("2026-12-20T03:00", 3),
        ("2026-12-20T03:00:00Z", 3),
        ("2026-12-20T08:00:00+05:00", 3),
        ("2026-12-19T22:00-05:00", 3),
    ],
)
def test_an_offset_is_kept(text: str, hour: int) -> None:
    wanted = datetime(2026, 12, 20, hour, tzinfo=UTC)
    found = moment("--at", text)
    assert found is not None
    assert datetime.fromisoformat(found) == wanted
    spec = spec_of(starts_at=text)
    assert datetime.fromisoformat(str(spec["starts_at"])) == wanted


def test_what_is_no_time_says_how_to_write_one() -> None:
    with pytest.raises(CliFailure, match="--at tomorrow is not a time"):
        moment("--at", "tomorrow")
