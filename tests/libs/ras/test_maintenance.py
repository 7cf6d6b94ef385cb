"""The rules of maintenance, against a decision that counts servers one by one."""

from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pytest

from libs.domain.maintenance import MaintenanceAnswer, MaintenanceGround, SpareServers, Underway
from libs.domain.unavailability import EventState, Unavailability, UnavailabilityEvent, UnavailabilityScope
from libs.ras.maintenance import in_queue, may_begin, waits_behind
from tests.builders.stored import NOW

HOUR = timedelta(hours=1)


@dataclass
class Server:
    msb: int
    asked: bool
    event: int | None  # in planned maintenance by this event
    down: bool
    reservation: int
    rru: float
    leaving: bool

    @property
    def held(self) -> bool:
        return not self.down and self.event is None


def random_fleet(rng: np.random.Generator) -> tuple[list[Server], np.ndarray, int]:
    """Return servers, promises and the number of MSBs. Most requests are small, and of one MSB."""
    msbs = int(rng.integers(1, 4))
    where = int(rng.integers(msbs))
    share = rng.choice([0.1, 0.2, 0.6])
    events = {m: m for m in range(msbs) if rng.random() < 0.3}
    lost = {m for m in range(msbs) if rng.random() < 0.15}
    servers = []
    for m in rng.integers(msbs, size=int(rng.integers(4, 40))).tolist():
        asked = bool((m == where or rng.random() < 0.02) and rng.random() < share)
        event = events.get(m) if rng.random() < 0.15 else None
        down = bool(rng.random() < (0.8 if m in lost else 0.03))
        rru = float(rng.choice([0.0, 0.5, 1.0]))
        servers.append(Server(m, asked, event, down, int(rng.integers(-1, 3)), rru, bool(rng.random() < 0.05)))
    held = np.array([sum(s.rru for s in servers if s.reservation == r and s.held) for r in range(3)])
    return servers, np.maximum(held - rng.integers(0, 4, 3), 0.5), msbs


def ground_of(servers: list[Server], promise: np.ndarray, msbs: int) -> tuple[MaintenanceGround, list[int]]:
    def count(which) -> np.ndarray:
        return np.array([sum(which(s) for s in servers if s.msb == m) for m in range(msbs)], np.int64)

    losing = sorted({s.reservation for s in servers if s.asked and s.held and s.reservation >= 0})
    events = sorted({s.event for s in servers if s.event is not None})

    def rru(which) -> np.ndarray:
        return np.array([sum(s.rru for s in servers if s.reservation == r and s.held and which(s)) for r in losing])

    ground = MaintenanceGround(
        msb=np.array([f"msb-{m}" for m in range(msbs)], object),
        servers=count(lambda s: True),
        in_maintenance=count(lambda s: s.event is not None),
        down=count(lambda s: s.down),
        asked=count(lambda s: s.asked and s.event is None),
        underway=tuple(
            Underway(
                unavailability_event_id=e,
                msbs=frozenset(s.msb for s in servers if s.event == e),
                ends_at=NOW + e * HOUR,
            )
            for e in events
        ),
        reservation=np.array([f"r{r}" for r in losing], object),
        granted_rru=promise[losing],
        held_rru=rru(lambda s: True),
        gone_rru=rru(lambda s: s.asked or s.leaving),
    )
    return ground, losing


def decided(servers: list[Server], promise: np.ndarray, behind: int | None) -> tuple[str, str, dict[str, float]]:
    """Decide by taking the servers out one by one, and looking at what is left."""
    new = [s for s in servers if s.asked and s.event is None]
    if not new:
        return "now", "Allowed", {}
    if len({s.msb for s in new}) > 1:
        return "refused", "SeveralMsbs", {}
    here = [s for s in servers if s.msb == new[0].msb]
    fits = 0
    while 4 * (fits + 1) <= len(here) or fits == 0:
        fits += 1
    if len(new) > fits:
        return "refused", "AboveQuarter", {}
    if behind is not None:
        return "queued", "Behind", {}
    for m in {s.msb for s in servers} - {new[0].msb}:
        there = [s.down for s in servers if s.msb == m]
        if there.count(True) > there.count(False):
            return "queued", "MsbDown", {}
    if any(s.event is not None and s.msb != new[0].msb for s in servers):
        return "queued", "OtherMsb", {}
    if len([s for s in here if s.event is not None or s in new]) > fits:
        return "queued", "QuarterInUse", {}
    short = {}
    for r, wanted in enumerate(promise):
        touched = any(s.reservation == r and s.held and s.asked for s in servers)
        left = sum(s.rru for s in servers if s.reservation == r and s.held and not s.asked and not s.leaving)
        if touched and wanted - left > 1e-9 * wanted:
            short[f"r{r}"] = float(wanted - left)
    return ("refused", "WouldBeShort", short) if short else ("now", "Allowed", {})


def test_the_rules_are_those_of_counting_servers() -> None:
    seen = set()
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        servers, promise, msbs = random_fleet(rng)
        behind = 7 if rng.random() < 0.1 else None
        ground, _ = ground_of(servers, promise, msbs)
        answer = may_begin(ground, behind=behind)
        verdict, reason, short = decided(servers, promise, behind)
        assert (answer.verdict, answer.reason) == (verdict, reason), seed
        assert answer.short_rru == pytest.approx(short), seed
        seen.add(reason)
    assert len(seen) == 8


def test_a_domain_in_several_msbs_takes_at_most_a_quarter_of_each_and_is_drained_alone() -> None:
    seen = set()
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        servers, promise, msbs = random_fleet(rng)
        share = rng.choice([0.1, 0.2])
        for server in servers:
            server.asked = bool(rng.random() < share)
        behind = 7 if rng.random() < 0.1 else None
        ground, _ = ground_of(servers, promise, msbs)
        answer = may_begin(replace(ground, is_domain=True), behind=behind)
        new = [s for s in servers if s.asked and s.event is None]
        touched = {s.msb for s in new}
        wanted = decided(servers, promise, behind)
        if len(touched) > 1:
            wanted = decided_of_several(servers, promise, behind)
            seen.add(wanted[1])
        assert (answer.verdict, answer.reason) == wanted[:2], seed
        assert answer.short_rru == pytest.approx(wanted[2]), seed
    assert seen == {"AboveQuarter", "Behind", "MsbDown", "OtherMsb", "WouldBeShort", "Allowed"}


def decided_of_several(
    servers: list[Server], promise: np.ndarray, behind: int | None
) -> tuple[str, str, dict[str, float]]:
    """Decide about a domain in several MSBs. Promises are those of the usual rules, as if there were one MSB."""
    for m in {s.msb for s in servers}:
        here = [s for s in servers if s.msb == m]
        if len([s for s in here if s.asked and s.event is None]) > max(1, len(here) // 4):
            return "refused", "AboveQuarter", {}
    if behind is not None:
        return "queued", "Behind", {}
    for m in {s.msb for s in servers}:
        there = [s.down for s in servers if s.msb == m]
        if there.count(True) > there.count(False):
            return "queued", "MsbDown", {}
    if any(s.event is not None for s in servers):
        return "queued", "OtherMsb", {}
    many = [Server(0, False, None, False, -1, 0.0, False) for _ in range(400)]
    return decided([*(replace(s, msb=0) for s in servers), *many], promise, None)


def test_a_reservation_that_is_promised_nothing_lacks_nothing() -> None:
    """Sums of the same RRU in another order differ by rounding."""
    ground, _ = ground_of([Server(0, s == 0, None, False, 0, 1.0, False) for s in range(8)], np.zeros(1), 1)
    held, gone = np.array([0.1 + 0.2 + 0.3]), np.array([0.3 + 0.2 + 0.1])
    assert may_begin(replace(ground, held_rru=gone, gone_rru=held)).reason == "Allowed"
    assert may_begin(replace(ground, held_rru=held, gone_rru=gone)).reason == "Allowed"


@pytest.mark.parametrize(
    ("servers", "in_maintenance", "asked", "verdict"),
    [
        (1, 0, 1, "now"),  # the only one
        (2, 1, 1, "queued"),
        (3, 0, 2, "refused"),
        (8, 0, 4, "now"),
        (8, 1, 4, "queued"),
        (8, 0, 5, "refused"),
        (9, 4, 5, "refused"),
    ],
)
def test_half_of_the_spare_servers_stay(servers: int, in_maintenance: int, asked: int, verdict: str) -> None:
    fleet = [Server(0, s == 0, 1 if s == 1 else None, False, -1, 0, False) for s in range(8)]
    ground, _ = ground_of(fleet, np.zeros(3), 1)
    enough = SpareServers(hardware_type="hw-b", servers=9, in_maintenance=0, asked=1)
    spares = SpareServers(hardware_type="hw-a", servers=servers, in_maintenance=in_maintenance, asked=asked)
    answer = may_begin(replace(ground, spares=(spares, enough)))
    assert answer.verdict == verdict
    if verdict != "now":
        left, stay = servers - in_maintenance - asked, servers - max(1, servers // 2)
        assert answer.message.endswith(
            f"left{' to replace lost ones' * (verdict == 'refused')}: {left} of {servers} "
            f"of hw-a, where {stay} must stay"
        )
        assert (answer.reason, answer.waits_for) == ("TooFewSpares", (1,) if verdict == "queued" else ())


def test_an_estimate_is_the_latest_known_end() -> None:
    servers = [Server(0, s < 2, None, False, -1, 0, False) for s in range(8)]
    servers += [Server(1, False, e, False, -1, 0, False) for e in (1, 2, None, None)]
    ground, _ = ground_of(servers, np.zeros(3), 2)
    answer = may_begin(ground)
    assert (answer.reason, answer.waits_for, answer.begins_at) == ("OtherMsb", (1, 2), NOW + 2 * HOUR)
    unknown = replace(ground, underway=(replace(ground.underway[0], ends_at=None), ground.underway[1]))
    assert may_begin(unknown).begins_at is None


def waiting(event_id: int, hours: float | None, answer: MaintenanceAnswer) -> UnavailabilityEvent:
    return UnavailabilityEvent(
        unavailability_event_id=event_id,
        region="west",
        scope=UnavailabilityScope.RACK,
        scope_name="rack-00",
        kind=Unavailability.PLANNED,
        reason="test",
        starts_at=NOW,
        ends_at=None if hours is None else NOW + hours * HOUR,
        ended_at=None,
        generation=1,
        state=EventState.QUEUED,
        answer=answer,
    )


def test_a_place_in_the_queue_follows_those_in_front() -> None:
    first = waiting(1, 2, replace(waits_behind(9), begins_at=NOW + HOUR))
    second = in_queue(waits_behind(1), [first])
    assert (second.position, second.begins_at, second.waits_for) == (2, NOW + 3 * HOUR, (1,))
    third = in_queue(waits_behind(2), [first, waiting(2, None, second)])
    assert (third.position, third.begins_at) == (3, None)
