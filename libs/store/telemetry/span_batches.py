"""Spans between acknowledgement and summing, one row per export, and the traces that were summed lately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

import numpy as np
import psycopg
import sqlalchemy as sa
from numpy.typing import NDArray

from libs.domain.spans import Ids, Spans
from libs.domain.telemetry import SpanSums, WaitingSpans
from libs.store.platform.database import Transaction, raw
from libs.store.tables import closed_traces, span_batches

CLOSED_TRACES_MAX = 1_000_000
"""Number of summed traces to remember, to recognise late spans."""
_SPAN = np.dtype(
    [
        ("trace", "<u8"),
        ("span", "<u8"),
        ("parent", "<u8"),
        ("took_ns", "<i8"),
        ("cpu", "<f8"),
        ("probability", "<f8"),
        ("service", "<i4"),
        ("gateway", "<i4"),
        ("kind", "i1"),
        ("shared", "?"),
    ]
)
"""Record of a span, 58 bytes."""


class StaleSpans(Exception):
    """Another sweep has summed some of these spans."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The amount of waiting spans, and the arrival of the oldest."""

    spans: int
    batches: int
    oldest_at: datetime | None
    oldest_s: float


def put_spans(tx: Transaction, spans: Spans, *, rejected: int = 0) -> None:
    """Store spans until they are summed. They may be acknowledged after the commit."""
    values = {"spans": len(spans), "rejected": rejected, "content": _pack(spans), "arrived_at": sa.func.now()}
    tx.execute(sa.insert(span_batches).values(values))


def count_waiting(tx: Transaction) -> Waiting:
    """Count the waiting spans."""
    c = span_batches.c
    oldest_s = sa.func.coalesce(sa.func.extract("epoch", sa.func.now() - sa.func.min(c.arrived_at)), 0)
    query = sa.select(sa.func.coalesce(sa.func.sum(c.spans), 0), sa.func.count(), sa.func.min(c.arrived_at), oldest_s)
    spans, batches, oldest_at, age_s = tx.execute(query).one()
    return Waiting(int(spans), batches, oldest_at, float(age_s))


def load_waiting_spans(tx: Transaction) -> WaitingSpans:
    """Return all waiting spans. Intake bounds their number, and so the memory."""
    query = """SELECT span_batch_id, spans, extract(epoch FROM arrived_at)::float8, rejected, content
        FROM span_batches ORDER BY span_batch_id"""
    with raw(tx).cursor(binary=True) as cursor:
        rows = cursor.execute(query).fetchall()
        closed = cursor.execute("SELECT content FROM closed_traces").fetchall()
        now = cursor.execute("SELECT extract(epoch FROM now())::float8").fetchone()
    assert now is not None
    ids, sizes, arrivals, rejected, contents = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return WaitingSpans(
        now=float(str(now[0])),
        batch_id=np.array(ids, np.int64),
        size=np.array(sizes, np.int64),
        arrival=np.array(arrivals, np.float64),
        rejected=np.array(rejected, np.int64),
        spans=_unpack(b"".join(contents)),
        closed=np.frombuffer(b"".join(cast(bytes, row[0]) for row in closed), "<u8"),
    )


def settle_spans(tx: Transaction, waiting: WaitingSpans, sums: SpanSums) -> None:
    """Delete the settled spans, which are summed or too late, and remember the traces that this sweep closed. Raises
    StaleSpans if another sweep has changed the batches since they were read.
    """
    batch = waiting.batch()
    settled = np.bincount(batch[sums.settled], minlength=len(waiting.size))
    touched = np.flatnonzero((settled > 0) | (waiting.size == 0))
    ids = waiting.batch_id[touched].tolist()
    with raw(tx).cursor() as cursor:
        _lock(cursor, ids, waiting.size[touched].tolist())
        emptied = settled[touched] == waiting.size[touched]
        cursor.execute(
            "DELETE FROM span_batches WHERE span_batch_id = ANY(%s)", [waiting.batch_id[touched][emptied].tolist()]
        )
        starts = np.cumsum(waiting.size) - waiting.size
        for b in touched[~emptied].tolist():
            rows = slice(starts[b], starts[b] + waiting.size[b])
            left = waiting.spans.take(rows).take(~sums.settled[rows])
            # Count the rejected entries of a batch once, with its first settled spans.
            cursor.execute(
                "UPDATE span_batches SET spans = %s, rejected = 0, content = %b WHERE span_batch_id = %s",
                [len(left), _pack(left), int(waiting.batch_id[b])],
            )
    if len(sums.closed):
        values = {
            "closed_at": sa.func.now(),
            "traces": len(sums.closed),
            "content": sums.closed.astype("<u8").tobytes(),
        }
        tx.execute(sa.insert(closed_traces).values(values))
        _forget_closed(tx)


def rejected_of(waiting: WaitingSpans, sums: SpanSums) -> int:
    """Return the number of rejected entries in two kinds of batches: those of which this sweep settles spans, and those
    without spans.
    """
    settled = np.bincount(waiting.batch()[sums.settled], minlength=len(waiting.size))
    return int(waiting.rejected[(settled > 0) | (waiting.size == 0)].sum())


def _lock(cursor: psycopg.Cursor[tuple[object, ...]], ids: list[int], sizes: list[int]) -> None:
    query = (
        "SELECT span_batch_id, spans FROM span_batches WHERE span_batch_id = ANY(%s) ORDER BY span_batch_id FOR UPDATE"
    )
    if cursor.execute(query, [ids]).fetchall() != list(zip(ids, sizes, strict=True)):
        raise StaleSpans("another run has summed some of these spans")


def _forget_closed(tx: Transaction) -> None:
    """Delete the closed traces of old sweeps. Keep the youngest sweeps with about CLOSED_TRACES_MAX traces in total,
    and at least one sweep.
    """
    tx.execute(
        sa.text(
            """DELETE FROM closed_traces WHERE closed_traces_id IN (
                SELECT closed_traces_id FROM (
                    SELECT closed_traces_id,
                        sum(traces) OVER (ORDER BY closed_traces_id DESC) - traces AS younger
                    FROM closed_traces) AS aged
                WHERE younger >= :most)"""
        ),
        {"most": CLOSED_TRACES_MAX},
    )


def _pack(spans: Spans) -> bytes:
    rows = np.empty(len(spans), _SPAN)
    for name in _SPAN.names or ():
        rows[name] = getattr(spans, name)
    return rows.tobytes()


def _unpack(content: bytes) -> Spans:
    rows: NDArray[np.void] = np.frombuffer(content, _SPAN)
    trace: Ids = np.ascontiguousarray(rows["trace"])
    return Spans(trace=trace, **{n: np.ascontiguousarray(rows[n]) for n in _SPAN.names or () if n != "trace"})
