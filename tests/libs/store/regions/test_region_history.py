"""The past of a region, compared with a reading of every record at many moments."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from libs.store.platform.refusals import NotFound
from libs.store.regions.region_history import PERIODS, load_region_history
from tests.builders.region import region_image
from tests.builders.stored import reservation_id, stored

TOLD_MINUTES = 10 * 1440
"""Since so long ago, the records say what was granted."""
NOW = datetime(2026, 11, 20, 18, tzinfo=UTC)
GUARDED, OPEN = (ReservationSpec(capacity_rru=9, rru={"hw-a": 1.0}, survives_msb_loss=s) for s in (True, False))
_RECORD = sa.text("""
    INSERT INTO readiness_changes (reservation_id, from_at, since_at, readiness, observed_generation, capacity_rru,
        granted_rru, held_rru, held_after_msb_loss_rru, ready_s, watched_s)
    VALUES (:id, :at, :at, :readiness, 1, :capacity, :granted, :held, :after, 0, 0)""")


def fill(database: Database, seed: int) -> list[dict]:
    """Store random records of three reservations, of which one is a shared buffer. Return those of the other two."""
    rng, of_grants = np.random.default_rng(seed), np.random.default_rng(100 + seed)
    image = region_image(reservations={"web": GUARDED, "db": OPEN, "spare": OPEN}, kind={"spare": "shared_buffer"})
    snapshot = stored(database, image)
    records = []
    for name in ("web", "db", "spare"):
        minutes = np.sort(rng.choice(np.arange(1, 40 * 1440), rng.integers(1, 60), replace=False))
        for minute in minutes[::-1].tolist():
            states = ["Held", "CapacityLost", "NotThereYet", "SurvivesLoss", "NotWatched"]
            state = str(rng.choice(states, p=[0.4, 0.3, 0.1, 0.1, 0.1]))
            held = None if state == "NotWatched" else float(rng.integers(0, 12))
            at = NOW - timedelta(minutes=minute)
            after = None if held is None else max(0.0, held - 2)
            one = {"id": reservation_id(snapshot, name), "at": at, "readiness": state, "held": held, "after": after}
            granted = None if minute > TOLD_MINUTES else float(of_grants.integers(0, 5))
            records.append(one | {"capacity": float(rng.integers(5, 9)), "granted": granted, "name": name})
    with database.write() as tx:
        for one in records:
            tx.execute(_RECORD, one)
        watched = "INSERT INTO readiness_watches SELECT region_id, :until, 0, 0, 0, 0, 0, 0, 0 FROM regions"
        tx.execute(sa.text(watched), {"until": NOW})
    return [one for one in records if one["name"] != "spare"]


def figures_at(records: list[dict], at: datetime) -> tuple[float, float | None, float, bool]:
    """Return RRU asked for, granted and missing at a time, and whether all was watched."""
    capacity, granted, missing, watched = 0.0, 0.0, 0.0, True
    for name in ("web", "db"):
        past = [one for one in records if one["name"] == name and one["at"] <= at]
        if not past:
            continue
        last = max(past, key=lambda one: one["at"])
        capacity += last["capacity"]
        granted = None if granted is None or last["granted"] is None else granted + last["granted"]
        if last["readiness"] in ("CapacityLost", "NotThereYet"):
            missing += max(0.0, last["capacity"] - last["after" if name == "web" else "held"])
        watched = watched and last["readiness"] != "NotWatched"
    return capacity, granted, missing, watched


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_period_has_the_most_that_was_missing_and_the_last_promise(database: Database, seed: int) -> None:
    records = fill(database, seed)
    with database.snapshot() as tx:
        found = load_region_history(tx, "west", days=30, now=NOW)
    first = max(NOW - timedelta(days=30), min(one["at"] for one in records))
    assert (found.begins_at, found.ends_at, len(found.periods)) == (first, NOW, PERIODS)
    length = (NOW - first) / PERIODS
    gaps, untold = 0, 0
    for place, period in enumerate(found.periods):
        begin, end = first + place * length, first + (place + 1) * length
        moments = [begin, *sorted(one["at"] for one in records if begin < one["at"] < end)]
        looks = [figures_at(records, at) for at in moments]
        if not any(watched for *_, watched in looks):
            gaps += 1
            assert (period.capacity_rru, period.granted_rru, period.missing_rru) == (None, None, None)
            continue
        capacity, granted, _, _ = looks[-1]
        assert period.capacity_rru == pytest.approx(capacity)
        assert period.granted_rru == (None if granted is None else pytest.approx(granted, abs=1e-9))
        assert period.missing_rru == pytest.approx(max(missing for _, _, missing, _ in looks))
        untold += granted is None
    assert 0 < gaps < PERIODS
    assert 0 < untold < PERIODS - gaps


def test_nothing_is_known_before_the_first_look_and_of_no_region(database: Database) -> None:
    stored(database, region_image(reservations={"web": GUARDED}))
    with database.snapshot() as tx:
        found = load_region_history(tx, "west", days=2, now=NOW)
        assert found.periods == ()
        assert [(one.day.day, one.moves, one.preemptions) for one in found.days] == [(19, 0, 0), (20, 0, 0)]
        with pytest.raises(NotFound):
            load_region_history(tx, "nowhere", days=2, now=NOW)


def test_moves_and_preemptions_are_counted_by_day(database: Database) -> None:
    snapshot = stored(database, region_image(reservations={"web": GUARDED}))
    begun = {(0, 1): True, (0, 2): False, (1, 25): True, (2, 47): False, (9, 300): True}
    with database.write() as tx:
        for server, ((_, hours), churns) in zip(snapshot.servers.id.tolist(), begun.items(), strict=False):
            at = NOW - timedelta(hours=hours)
            tx.execute(
                sa.text("""INSERT INTO moves (region_id, server_id, steps, status, step_started_at, created_at,
                           finished_at, churned_at)
                           SELECT region_id, :server, '{}', 'done', :at, :at, :at, :churned FROM regions"""),
                {"server": server, "at": at, "churned": at if churns else None},
            )
    with database.snapshot() as tx:
        found = load_region_history(tx, "west", days=3, now=NOW)
    assert [(one.moves, one.preemptions) for one in found.days] == [(1, 0), (1, 1), (2, 1)]
