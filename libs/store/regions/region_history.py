"""The past of a region in a few numbers: what its reservations asked for, were granted and held, and the moves of each
day.

Each part is one statement, however large the region is. See docs/designs/0022.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from libs.domain.readiness import NOT_READY, Readiness
from libs.domain.region_history import HeldPeriod, MovesOfDay, RegionHistory
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

PERIODS = 240
"""Number of periods of a history, as many as a picture can show."""

# Of each reservation, the record in force at `since`, or else the first one after it.
_LIVE = """
    SELECT reservation_id, survives_msb_loss, deleted_at, coalesce(
        (SELECT max(from_at) FROM readiness_changes AS one
         WHERE one.reservation_id = reservations.reservation_id AND from_at <= :since),
        (SELECT min(from_at) FROM readiness_changes AS one WHERE one.reservation_id = reservations.reservation_id)
    ) AS first_at
    FROM reservations
    WHERE region_id = :region_id AND kind = 'guaranteed' AND coalesce(deleted_at > :since, true)"""
_FIRST = sa.text(f"SELECT min(first_at) FROM ({_LIVE}) AS live")
# A reservation that did not hold what it asks for lacks the rest, after the loss of an MSB where it survives that. One
# that survives a loss right now lacks nothing. A deleted one asks for nothing from then on.
_FIGURES = f"""
    SELECT from_at, readiness_changes.capacity_rru, coalesce(granted_rru, 0) AS granted_rru,
           CAST(granted_rru IS NULL AS integer) AS untold,
           CASE WHEN readiness IN ({", ".join(f"'{one}'" for one in NOT_READY)})
                THEN greatest(readiness_changes.capacity_rru
                              - CASE WHEN survives_msb_loss THEN held_after_msb_loss_rru ELSE held_rru END, 0)
                ELSE 0 END AS missing_rru,
           CAST(readiness = '{Readiness.NOT_WATCHED}' AS integer) AS unknown
    FROM readiness_changes WHERE readiness_changes.reservation_id = live.reservation_id"""
# The changes from each record to the next add up to those of the region. So each record is read once, in the order of
# the key, and sorted once. Figures of one moment are peers in the sums, so no sum is of a part of them.
_HELD = sa.text(f"""
    WITH live AS MATERIALIZED ({_LIVE}), changes AS (
        SELECT greatest(from_at, :since) AS at,
               capacity_rru - lag(capacity_rru, 1, 0::float8) OVER earlier AS capacity_rru,
               granted_rru - lag(granted_rru, 1, 0::float8) OVER earlier AS granted_rru,
               untold - lag(untold, 1, 0) OVER earlier AS untold,
               missing_rru - lag(missing_rru, 1, 0::float8) OVER earlier AS missing_rru,
               unknown - lag(unknown, 1, 0) OVER earlier AS unknown
        FROM (
            SELECT one.*, reservation_id FROM live CROSS JOIN LATERAL (
                {_FIGURES} AND from_at >= first_at AND from_at < least(:until, coalesce(deleted_at, :until))
            ) AS one
            UNION ALL
            SELECT deleted_at, 0, 0, 0, 0, 0, reservation_id FROM live WHERE deleted_at < :until
        ) AS records WINDOW earlier AS (PARTITION BY reservation_id ORDER BY from_at)
    ), sums AS (
        SELECT changes.*, sum(missing_rru) OVER earlier AS missing_then_rru, sum(unknown) OVER earlier AS unknown_then
        FROM changes WINDOW earlier AS (ORDER BY at)
    )
    SELECT width_bucket(at, CAST(:begins AS timestamptz[])) - 1 AS period,
           max(missing_then_rru) AS most_missing_rru, min(unknown_then) AS least_unknown,
           sum(capacity_rru) AS capacity_rru, sum(granted_rru) AS granted_rru, sum(untold) AS untold,
           sum(missing_rru) AS missing_rru, sum(unknown) AS unknown
    FROM sums GROUP BY 1""")
_DAYS = sa.text("""
    SELECT day, coalesce(sum(moves), 0) AS moves, coalesce(sum(preemptions), 0) AS preemptions
    FROM (
        SELECT CAST(created_at AT TIME ZONE 'UTC' AS date) AS day, count(*) AS moves, 0 AS preemptions FROM moves
        WHERE region_id = :region_id AND created_at >= :since GROUP BY 1
        UNION ALL
        SELECT CAST(churned_at AT TIME ZONE 'UTC' AS date), 0, count(*) FROM moves
        WHERE region_id = :region_id AND churned_at >= :since GROUP BY 1
    ) AS counted GROUP BY day ORDER BY day""")
_WATCHED = sa.text("SELECT watched_until FROM readiness_watches WHERE region_id = :region_id")


def load_region_history(tx: Transaction, region_name: str, *, days: int, now: datetime) -> RegionHistory:
    """Return the past `days` of a region, or less if nothing was watched before. Raises NotFound.

    Whole days are counted, so the first of them begins at midnight in UTC.
    """
    region_id = load_region(tx, region_name).region_id
    until: datetime | None = tx.execute(_WATCHED, {"region_id": region_id}).scalar_one_or_none()
    ends_at = now if until is None else until
    since = ends_at - timedelta(days=days)
    periods = () if until is None else _periods(tx, region_id, since, until)
    return RegionHistory(
        begins_at=periods[0].begins_at if periods else since,
        ends_at=ends_at,
        periods=periods,
        days=_days(tx, region_id, days, now),
    )


def _periods(tx: Transaction, region_id: int, since: datetime, until: datetime) -> tuple[HeldPeriod, ...]:
    which = {"region_id": region_id, "since": since}
    first: datetime | None = tx.execute(_FIRST, which).scalar_one()
    if first is None or first >= until:
        return ()
    which["since"] = begins_at = max(since, first)
    begins = [begins_at + place * (until - begins_at) / PERIODS for place in range(PERIODS)]
    found = {row.period: row for row in tx.execute(_HELD, which | {"until": until, "begins": begins})}
    capacity, granted, missing = 0.0, 0.0, 0.0
    untold, unknown = 0, 1  # nothing is known before the first look
    periods = []
    for place, begin in enumerate(begins):
        most, least_unknown = missing, unknown
        if (row := found.get(place)) is not None:
            most, least_unknown = max(most, row.most_missing_rru), min(least_unknown, row.least_unknown)
            capacity, missing = capacity + row.capacity_rru, missing + row.missing_rru
            granted, untold = granted + row.granted_rru, untold + row.untold
            unknown = (unknown if place else 0) + row.unknown
        is_watched = least_unknown <= 0
        periods.append(
            HeldPeriod(
                begins_at=begin,
                capacity_rru=capacity if is_watched else None,
                granted_rru=max(0.0, granted) if is_watched and not untold else None,
                missing_rru=max(0.0, most) if is_watched else None,
            )
        )
    return tuple(periods)


def _days(tx: Transaction, region_id: int, days: int, now: datetime) -> tuple[MovesOfDay, ...]:
    today = now.astimezone(UTC).date()
    known = [today - timedelta(days=back) for back in reversed(range(days))]
    since = datetime(known[0].year, known[0].month, known[0].day, tzinfo=UTC)
    found = {row.day: row for row in tx.execute(_DAYS, {"region_id": region_id, "since": since})}
    return tuple(
        MovesOfDay(
            day=day,
            moves=int(found[day].moves) if day in found else 0,
            preemptions=int(found[day].preemptions) if day in found else 0,
        )
        for day in known
    )
