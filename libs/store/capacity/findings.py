"""Findings of assessments and solves, one per reservation, in a table of their own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from psycopg.types.json import Json

from libs.domain.finding import NewFinding
from libs.store.platform.database import Transaction

_FOUND = """unnest(CAST(:ids AS bigint[]), CAST(:generations AS bigint[]), CAST(:phases AS text[]),
                   CAST(:reasons AS text[]), CAST(:messages AS text[]), CAST(:numbers AS jsonb[]))
            AS found (reservation_id, observed_generation, phase, reason, message, numbers)"""

# In order of id, so that two writers do not deadlock. A finding at an older generation never replaces a newer one:
# a long solve must not undo the assessment of a resize during it.
_RECORD = f"""
    INSERT INTO reservation_statuses AS known
        (reservation_id, observed_generation, phase, reason, message, numbers, changed_at, observed_at)
    SELECT found.*, :now, :now FROM {_FOUND} JOIN reservations USING (reservation_id)
    WHERE region_id = :region_id AND deleted_at IS NULL
    ORDER BY reservation_id
    ON CONFLICT (reservation_id) DO UPDATE SET
        observed_generation = EXCLUDED.observed_generation, phase = EXCLUDED.phase, reason = EXCLUDED.reason,
        message = EXCLUDED.message, numbers = EXCLUDED.numbers, observed_at = EXCLUDED.observed_at,
        changed_at = CASE WHEN known.phase = EXCLUDED.phase THEN known.changed_at ELSE EXCLUDED.changed_at END
    WHERE known.observed_generation <= EXCLUDED.observed_generation"""

_GRANT = """
    WITH covered AS (
        SELECT capacity_request_id, found.reason, found.message, found.numbers
        FROM capacity_requests JOIN reservations USING (reservation_id)
        JOIN reservation_statuses AS found USING (reservation_id)
        WHERE capacity_requests.phase = 'degraded' AND found.phase = 'granted'
          AND NOT EXISTS (  -- the finding says nothing about a later request
              SELECT FROM capacity_requests AS later
              WHERE later.reservation_id = capacity_requests.reservation_id
                AND later.capacity_request_id > capacity_requests.capacity_request_id
                AND later.phase IN ('granted', 'degraded'))
          AND found.observed_generation = reservations.generation AND reservations.deleted_at IS NULL
          AND reservation_id = ANY(:ids) AND reservations.region_id = :region_id
        ORDER BY capacity_request_id FOR NO KEY UPDATE OF capacity_requests
    )
    UPDATE capacity_requests SET phase = 'granted', reason = covered.reason, message = covered.message,
           numbers = covered.numbers, changed_at = :now
    FROM covered WHERE capacity_requests.capacity_request_id = covered.capacity_request_id"""


def record_findings(tx: Transaction, region_id: int, findings: Sequence[NewFinding], *, now: datetime) -> int:
    """Write the findings of N reservations. Set the phase of a degraded request to granted if its reservation now has
    its capacity.

    Do not write the finding of a deleted reservation, or a finding at an older generation than the stored finding.
    While the phase of a finding stays the same, keep its changed_at. Return the number of requests that became granted.
    """
    ids = [one.reservation_id for one in findings]
    tx.execute(
        sa.text(_RECORD),
        {
            "region_id": region_id,
            "ids": ids,
            "generations": [one.observed_generation for one in findings],
            "phases": [one.phase.value for one in findings],
            "reasons": [one.reason for one in findings],
            "messages": [one.message for one in findings],
            "numbers": [Json(one.numbers) for one in findings],
            "now": now,
        },
    )
    return tx.execute(sa.text(_GRANT), {"ids": ids, "region_id": region_id, "now": now}).rowcount
