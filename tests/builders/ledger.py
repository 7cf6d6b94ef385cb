"""Proposals and events of the capacity ledger."""

from datetime import UTC, datetime, timedelta

from libs.domain.capacity_event import CapacityDelta, CapacityEvent, EventStatus, Proposal, TrafficShift, Writer

DUE = datetime(2026, 11, 9, tzinfo=UTC)


def resize(delta=10.0, *, service="web", region="east", hardware_type="compute", day=0, **given) -> Proposal:
    """Return a change of capacity that is due `day` days after DUE."""
    effect = CapacityDelta(service=service, region=region, hardware_type=hardware_type, delta=delta)
    return _proposal(effect, day, given)


def shift(share=0.1, *, product="shop", from_region="east", to_region="west", day=0, **given) -> Proposal:
    """Return a shift of traffic that is due `day` days after DUE."""
    effect = TrafficShift(product=product, from_region=from_region, to_region=to_region, share=share)
    return _proposal(effect, day, given)


def _proposal(effect, day, given):
    return Proposal(
        **{"effect": effect, "writer": Writer.PERSON, "reason": "a launch", "starts_at": DUE + timedelta(day)} | given
    )


def event(proposal: Proposal, *, event_id=1, author="olga", status=EventStatus.PROPOSED, achieved=0.0) -> CapacityEvent:
    """Return the event of a proposal."""
    return CapacityEvent(
        capacity_event_id=event_id,
        effect=proposal.effect,
        writer=proposal.writer,
        author=author,
        reason=proposal.reason,
        starts_at=proposal.starts_at,
        lead_time_h=proposal.lead_time_h,
        antecedents=proposal.antecedents,
        placement_plan_id=proposal.placement_plan_id,
        action=proposal.action,
        proposed_at=DUE,
        status=status,
        achieved=achieved,
        changed_at=DUE,
        generation=1,
    )
