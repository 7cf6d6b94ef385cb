"""The day on which spare servers run out is that of stepping through the expected failures and repairs."""

import numpy as np
import pytest

from libs.domain.failure_record import SpareRecord
from libs.ras.spare_outlook import foresee_spares

DAY_S = 86_400.0


def record(**columns):
    names = sorted(columns)
    rows = [columns[name] for name in names]

    def column(key, dtype):
        return np.array([row[key] for row in rows], dtype)

    return SpareRecord(
        watched_s=10 * DAY_S,
        hardware_type=np.array(names, object),
        wanted=column("usable", float),
        usable=column("usable", int),
        down=column("down", int),
        failures=column("failures", int),
        down_s=column("down_days", float) * DAY_S,
        ended=column("ended", int),
    )


def stepped_days(usable, down, per_day, repair_days, *, step=0.001, most=200.0):
    """Return the first day without a spare server, by small steps; None: not within `most` days."""
    left, away, day = float(usable), float(down), 0.0
    while day < most:
        if left <= 0:
            return day
        change = (per_day - away / repair_days) * step
        left, away, day = left - change, away + change, day + step
    return None


@pytest.mark.parametrize(
    ("usable", "down", "failures", "repair_days"),
    [(4, 1, 20, 5.0), (3, 0, 5, 20.0), (10, 2, 30, 3.0), (2, 6, 20, 5.0), (1, 0, 40, 0.5)],
)
def test_the_end_is_that_of_small_steps(usable, down, failures, repair_days):
    ended = 4
    row = {
        "usable": usable,
        "down": down,
        "failures": failures,
        "down_days": repair_days * ended,
        "ended": ended,
    }
    [told] = foresee_spares(record(hw=row))
    expected = stepped_days(usable, down, failures / 10, repair_days)
    assert told.runs_out_days == (None if expected is None else pytest.approx(expected, rel=0.01))
    assert told.down_expected == pytest.approx(failures / 10 * repair_days)
    assert told.lasts_days == pytest.approx(usable / (failures / 10))


def test_the_first_to_run_out_comes_first():
    def row(usable, failures, ended=2):
        return {"usable": usable, "down": 0, "failures": failures, "down_days": 20.0, "ended": ended}

    told = foresee_spares(record(calm=row(9, 0), empty=row(0, 3), few=row(2, 30), many=row(8, 30), still=row(3, 1)))
    assert [one.hardware_type for one in told] == ["empty", "few", "many", "still", "calm"]
    assert told[0].runs_out_days == 0
    assert told[1].runs_out_days < told[2].runs_out_days
    assert [one.runs_out_days for one in told[3:]] == [None, None]


def test_without_a_repair_nothing_comes_back():
    [told] = foresee_spares(record(hw={"usable": 6, "down": 1, "failures": 10, "down_days": 3.0, "ended": 0}))
    assert (told.repair_days, told.down_expected) == (None, None)
    assert told.runs_out_days == told.lasts_days == pytest.approx(6.0)
