"""Events of the ledger as rows, and rows as events."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.capacity_event import CapacityDelta, CapacityEvent, Effect, EventStatus, TrafficShift, Writer
from libs.store.tables import capacity_event_antecedents, capacity_events

_A = capacity_event_antecedents.c
_ANTECEDENTS = (
    sa.select(sa.func.array_agg(_A.antecedent_id))
    .where(_A.capacity_event_id == capacity_events.c.capacity_event_id)
    .scalar_subquery()
)
EVENTS = sa.select(capacity_events, _ANTECEDENTS.label("antecedents"))
"""Select whole events, for event_of."""
_SAME = (
    "capacity_event_id",
    "author",
    "reason",
    "starts_at",
    "lead_time_h",
    "placement_plan_id",
    "action",
    "proposed_at",
    "achieved",
    "changed_at",
    "generation",
)


def event_of(row: sa.RowMapping) -> CapacityEvent:
    """Return the event of a row of EVENTS."""
    return CapacityEvent(
        **{name: row[name] for name in _SAME},
        effect=_effect(row),
        writer=Writer(row["writer"]),
        status=EventStatus(row["status"]),
        antecedents=tuple(sorted(row["antecedents"] or ())),
    )


def _effect(row: sa.RowMapping) -> Effect:
    if row["kind"] == "capacity":
        return CapacityDelta(
            service=row["service"], region=row["region"], hardware_type=row["hardware_type"], delta=row["amount"]
        )
    return TrafficShift(
        product=row["product"], from_region=row["from_region"], to_region=row["to_region"], share=row["amount"]
    )


def effect_columns(effect: Effect) -> dict[str, object]:
    """Return the columns of an effect. Those of the other kind are None."""
    capacity = effect if isinstance(effect, CapacityDelta) else None
    traffic = effect if isinstance(effect, TrafficShift) else None
    return {
        "kind": "traffic" if capacity is None else "capacity",
        "service": capacity and capacity.service,
        "region": capacity and capacity.region,
        "hardware_type": capacity and capacity.hardware_type,
        "product": traffic and traffic.product,
        "from_region": traffic and traffic.from_region,
        "to_region": traffic and traffic.to_region,
        "amount": effect.amount,
    }
