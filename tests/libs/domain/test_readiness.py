"""A request that waits is lost only as far as it was granted, with the loss of an MSB and with resources."""

from dataclasses import replace

import pytest

from libs.domain.readiness import Readiness, ReadinessRecord, readiness_of
from libs.domain.reservation import Coverage, HeldResource
from tests.builders.stored import NOW

ASKED_RRU, GRANTED_RRU = 20.0, 10.0


def covered(total_rru: float, worst_msb_rru: float, **further: object) -> Coverage:
    """Return a coverage of ASKED_RRU that must survive the loss of an MSB."""
    return Coverage(
        servers=9,
        unavailable_servers=0,
        total_rru=total_rru,
        worst_msb_rru=worst_msb_rru,
        worst_msb="msb-00",
        shortfall_rru=max(0.0, ASKED_RRU - total_rru + worst_msb_rru),
        **further,
    )


@pytest.mark.parametrize(
    ("held", "kept"),
    [
        (covered(13.0, 3.0), True),
        (covered(12.9, 3.0), False),
        (covered(10.0, 3.0, lacking_msbs=1, lost_msbs=1), True),
        (covered(9.9, 3.0, lacking_msbs=1, lost_msbs=1), False),
        (covered(10.0, 3.0, lacking_msbs=2, lost_msbs=1), False),
        (covered(10.0, 3.0, survives_msb_loss=False, lacking_msbs=1, lost_msbs=1), False),
    ],
)
def test_the_granted_part_is_kept_after_a_loss_or_during_one(held: Coverage, kept: bool) -> None:
    assert held.keeps(ASKED_RRU, GRANTED_RRU) is kept
    assert not held.keeps(ASKED_RRU)
    assert held.keeps(ASKED_RRU, 0.0), "nothing is promised"


@pytest.mark.parametrize(("total", "kept"), [(50.0, True), (49.0, False)])
def test_of_each_resource_the_share_of_the_grant_must_be_there(total: float, kept: bool) -> None:
    memory = HeldResource(resource="memory_gib", asked=100.0, total=total, left=total - 20.0)
    short = ASKED_RRU * (1 - memory.left / memory.asked)
    held = replace(covered(18.0, 3.0, lacking_msbs=1, lost_msbs=1, resources=(memory,)), shortfall_rru=short)
    assert held.keeps(ASKED_RRU, GRANTED_RRU) is kept


def record(state: Readiness, held_rru: float | None, after_rru: float | None, asked_rru: float) -> ReadinessRecord:
    return ReadinessRecord(
        from_at=NOW,
        since_at=NOW,
        readiness=state,
        observed_generation=1,
        capacity_rru=asked_rru,
        granted_rru=asked_rru,
        held_rru=held_rru,
        held_after_msb_loss_rru=after_rru,
    )


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (None, "NotThereYet"),
        (record(Readiness.NOT_WATCHED, None, None, 20.0), "NotThereYet"),
        (record(Readiness.NOT_THERE_YET, 12.0, 9.0, 20.0), "NotThereYet"),
        (record(Readiness.NOT_THERE_YET, 13.0, 10.0, 20.0), "CapacityLost"),
        (record(Readiness.CAPACITY_LOST, 9.0, 6.0, 10.0), "CapacityLost"),
        (record(Readiness.SURVIVES_LOSS, 10.0, 7.0, 10.0), "CapacityLost"),
        (record(Readiness.HELD, 12.0, 9.0, 8.0), "NotThereYet"),
    ],
)
def test_a_granted_part_is_lost_if_it_was_held(last: ReadinessRecord | None, state: str) -> None:
    """The record is of an older generation than the request that waits. It was granted before."""

    def now(held: Coverage) -> Readiness:
        return readiness_of(
            held, capacity_rru=ASKED_RRU, granted_rru=GRANTED_RRU, is_promised=True, generation=2, last=last
        )

    assert now(covered(9.0, 3.0)) == state
    assert now(covered(13.0, 3.0)) == "NotThereYet", "only the rest is missing"
    assert now(covered(23.0, 3.0)) == "Held"
