"""Usage and traffic: series of samples by minute, stored by hour. Writing a sample twice has no further effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from libs.domain.arrays import Ints
from libs.domain.telemetry import Samples
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction, raw
from libs.store.platform.records import replace_records, stage_records
from libs.store.platform.refusals import NotPossible
from libs.store.tables import traffic_hours, traffic_series, usage_hours, usage_series
from libs.store.telemetry.names_by_token import count_named

HOUR_MINUTES = 60
Block = NDArray[np.float32]
"""(U, 60) samples of hours; nan: not reported. 32 bits hold seven digits, more than a measurement has."""
_KEY_BITS = 40
_SAMPLES = np.dtype(("V", HOUR_MINUTES * 4))
_ROW = np.dtype([("hour", ">i8"), ("key", ">i8"), ("samples", "<f4", (HOUR_MINUTES,))])


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured quantity: its two tables, and the names that identify a series."""

    noun: str
    series: sa.Table
    hours: sa.Table
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return the name of the column with the id of a series."""
        return f"{self.series.name}_id"

    def lock(self, tx: Transaction) -> None:
        """Lock the measure until the transaction ends. Writers patch stored hours, and add and delete series."""
        tx.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext(:table))"), {"table": self.hours.name})


USAGE = Measure("usage", usage_series, usage_hours, ("service", "region", "hardware_type"))
TRAFFIC = Measure("traffic", traffic_series, traffic_hours, ("product", "region"))


@dataclass(frozen=True, slots=True)
class Measured:
    """The extent of a measure: the number of series, and the first and last hour."""

    series: int
    first_hour_at: datetime | None
    last_hour_at: datetime | None


def put_samples(
    tx: Transaction,
    measure: Measure,
    series: Sequence[tuple[str, ...]],
    samples: Samples,
    *,
    series_max: int,
    named_by: str | None = None,
) -> None:
    """Write samples over the stored ones. Of several samples for one minute, the last one counts.

    series     names of each series, distinct, in the order of measure.names
    named_by   the token that sends the samples, which may add a share of all series; None: the planner fetched them
               itself

    Raises NotPossible if there would be more than `series_max` series, or if the token would add more series than its
    share.
    """
    measure.lock(tx)
    ids = _number_series(tx, measure, series, series_max, named_by)
    if not len(samples):
        return
    found, of = np.unique(_one_key(samples.minute // HOUR_MINUTES, ids[samples.series]), return_inverse=True)
    block = np.full((len(found), HOUR_MINUTES), np.nan, "<f4")
    block[of, samples.minute % HOUR_MINUTES] = samples.value
    hour, key = (found >> _KEY_BITS).astype(np.int32), found & (2**_KEY_BITS - 1)
    incoming = stage_records(tx, measure.hours, {"hour": hour, measure.key: key, "samples": _bytes(block)})
    there = copy_out(
        tx,
        f"SELECT hour, {measure.key}, there.samples FROM {incoming} "
        f"JOIN {measure.hours.name} AS there USING (hour, {measure.key})",
        {},
        {"hour": ">i4", "key": ">i8", "samples": _SAMPLES},
    )
    changed = np.ones(len(found), bool)
    at = np.searchsorted(found, _one_key(there["hour"], there["key"]))
    before = _block(there["samples"])
    after = np.where(np.isnan(block[at]), before, block[at])
    changed[at] = ((after != before) & ~(np.isnan(after) & np.isnan(before))).any(1)
    block[at] = after
    columns = {"hour": hour[changed], measure.key: key[changed], "samples": _bytes(block[changed])}
    replace_records(tx, measure.hours, columns)


def load_series(tx: Transaction, measure: Measure) -> tuple[Ints, list[tuple[str, ...]]]:
    """Return the (N,) ids of all series, ascending, and their names."""
    columns = [measure.series.c[name] for name in (measure.key, *measure.names)]
    rows = tx.execute(sa.select(*columns).order_by(columns[0])).all()
    return np.array([row[0] for row in rows], np.int64), [tuple(row[1:]) for row in rows]


def load_blocks(tx: Transaction, measure: Measure, first_hour: int, end_hour: int) -> tuple[Ints, Ints, Block]:
    """Return (U,) hours since 1970, (U,) ids of series and (U, 60) samples, for first_hour <= hour < end_hour.

    Each hour arrives as one value, because a message for each of a million rows would take longer than all else.
    """
    query = f"""SELECT string_agg(int8send(hour) || int8send({measure.key}) || samples, '')
        FROM {measure.hours.name} WHERE hour >= %s AND hour < %s GROUP BY hour"""
    with raw(tx).cursor(binary=True) as cursor:
        parts = [cast(bytes, row[0]) for row in cursor.execute(query, [first_hour, end_hour])]
    found = np.frombuffer(b"".join(parts), _ROW)
    return found["hour"].astype(np.int64), found["key"].astype(np.int64), found["samples"]


def count_measured(tx: Transaction, measure: Measure) -> Measured:
    """Return the number of series, and the times of the first and last measurement."""
    series = tx.execute(sa.select(sa.func.count()).select_from(measure.series)).scalar_one()
    ends = sa.select(sa.func.min(measure.hours.c.hour), sa.func.max(measure.hours.c.hour))
    first, last = tx.execute(ends).one()
    return Measured(series, _hour_at(first), _hour_at(last))


def forget_samples(tx: Transaction, measure: Measure, before_hour: int) -> int:
    """Delete the hours before `before_hour`, and series that have no hour left. Return the number of deleted hours."""
    measure.lock(tx)
    hours = measure.hours
    forgotten = tx.execute(sa.delete(hours).where(hours.c.hour < before_hour)).rowcount
    if forgotten:
        key = measure.series.c[measure.key]
        tx.execute(sa.delete(measure.series).where(~sa.exists().where(hours.c[measure.key] == key)))
    return forgotten


def _number_series(
    tx: Transaction, measure: Measure, series: Sequence[tuple[str, ...]], series_max: int, named_by: str | None
) -> Ints:
    """Return the (N,) ids of `series`. Add the series that are not stored yet."""
    parameters = {f"n{i}": [names[i] for names in series] for i in range(len(measure.names))}
    given = ", ".join(f"CAST(:n{i} AS text[])" for i in range(len(measure.names)))
    listed = ", ".join(measure.names)
    insert = f"""INSERT INTO {measure.series.name} ({listed}, named_by)
        SELECT *, CAST(:named_by AS text) FROM unnest({given}) ON CONFLICT DO NOTHING"""
    new = tx.execute(sa.text(insert), parameters | {"named_by": named_by}).rowcount
    named = count_named(tx, measure.series, named_by or "")
    if named.total > series_max:
        raise NotPossible(measure.noun, f"there would be {named.total:,} series; at most {series_max:,} are taken")
    if new and named_by is not None and named.room(series_max) < 0:
        free = f"{named.own:,} series would be of this token and {series_max - named.total:,} free"
        raise NotPossible(measure.noun, f"{free}: a token may have at most as many as are free, see docs/operating.md")
    query = f"""SELECT nth - 1, {measure.key} FROM unnest({given}) WITH ORDINALITY AS given ({listed}, nth)
        JOIN {measure.series.name} USING ({listed})"""
    found = np.zeros(len(series), np.int64)
    for nth, key in tx.execute(sa.text(query), parameters):
        found[nth] = key
    return found


def _one_key(hour: NDArray[Any], key: NDArray[Any]) -> Ints:
    """Return a number for each pair of hour and key. The numbers sort in the same order as the pairs."""
    return hour.astype(np.int64) << _KEY_BITS | key.astype(np.int64)


def _bytes(block: Block) -> NDArray[np.void]:
    return np.ascontiguousarray(block).view(_SAMPLES).reshape(-1)


def _block(samples: NDArray[np.void]) -> Block:
    return np.ascontiguousarray(samples).view("<f4").reshape(-1, HOUR_MINUTES)


def _hour_at(hour: int | None) -> datetime | None:
    return None if hour is None else datetime.fromtimestamp(hour * 3600, UTC)
