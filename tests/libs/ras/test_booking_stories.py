"""Random requests with windows, day by day: a promised start is whole, and no server serves two at one time."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.calendar import Calendar, Window, Windowed, window_of
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.ras.bookings import booking_of, decide
from libs.ras.solve import plan_target_bindings
from tests.builders.region import fleet_snapshot
from tests.libs.ras.test_bookings import NOW, POLICY

DAYS = 8
ALWAYS = Window(-np.inf, np.inf)
Asked = tuple[int, ReservationSpec]


@st.composite
def requests(draw) -> list[Asked]:
    """Requests by the day on which they are asked, in order. A day has one moment, so windows begin and end at it."""
    found = []
    for _ in range(draw(st.integers(2, 6))):
        day = draw(st.integers(0, DAYS - 3))
        start = draw(st.one_of(st.none(), st.integers(day + 1, DAYS - 1)))
        end = draw(st.one_of(st.none(), st.integers((start or day) + 1, DAYS)))
        spec = ReservationSpec(
            capacity_rru=float(draw(st.integers(1, 5))),
            rru=draw(st.sampled_from([{"hw-a": 1.0}, {"hw-a": 1.0, "hw-b": 1.0}, {"hw-b": 2.0}])),
            survives_msb_loss=draw(st.booleans()),
            starts_at=None if start is None else NOW + timedelta(days=start),
            ends_at=None if end is None else NOW + timedelta(days=end),
        )
        found.append((day, spec))
    return sorted(found, key=lambda one: one[0])


class Story:
    """A region with its calendar, as the portal would keep them."""

    def __init__(self) -> None:
        self.snapshot: FleetSnapshot = fleet_snapshot(msbs=4, servers_per_rack=3, hardware_types=("hw-a", "hw-b"))
        self.calendar = Calendar(now_s=NOW.timestamp())
        self.now = NOW

    def windowed(self, name: str, spec: ReservationSpec, *, begun: bool = False) -> Windowed:
        window = window_of(spec, replace(POLICY, booking_lead_s=0.0), now=self.now, begun=begun)
        return Windowed(reservation_id=len(name), name=name, generation=1, spec=spec, window=window)

    def ask(self, name: str, spec: ReservationSpec) -> str:
        """Decide on a request, and do as decided. Return the phase."""
        calendar, one = self.calendar.without(name), self.windowed(name, spec)
        asked, row = with_reservation(self.snapshot, name, spec)
        decision = decide(asked, row, one, calendar)
        if decision.verdict.plan is None:
            return "rejected"
        before = {one.name: one.is_promise for one in calendar.scheduled}
        assert all(new.is_promise for new in decision.rebooked if before[new.name])
        calendar = calendar.with_bookings(decision.rebooked)
        if one.window.from_s > calendar.now_s:
            self.calendar = calendar.with_scheduled(replace(one, **booking_of(one, row, decision.verdict).kept))
            return decision.verdict.phase
        self.calendar = calendar.with_end(name, one.window.until_s)
        target = decision.verdict.plan.target
        self.snapshot = replace(asked, servers=replace(asked.servers, target=target, current=target))
        return decision.verdict.phase

    def advance(self, day: int) -> None:
        """Let the day come: first reservations end, then others begin. A promised one is whole."""
        self.now = NOW + timedelta(days=day)
        self.calendar = replace(self.calendar, now_s=self.now.timestamp())
        q, servers = self.snapshot.reservations, self.snapshot.servers
        over = np.array([self.calendar.ends_s.get(name, np.inf) <= self.now.timestamp() for name in q.name], bool)
        target = np.where((servers.target >= 0) & np.append(over, False)[servers.target], FREE, servers.target)
        target = target.astype(np.int32)
        self.snapshot = replace(self.snapshot, servers=replace(servers, target=target, current=target))
        for one in [one for one in self.calendar.scheduled if one.window.from_s <= self.now.timestamp()]:
            if one.window.until_s <= self.now.timestamp():
                self.calendar = self.calendar.without(one.name)
                continue
            phase = self.ask(one.name, one.spec)
            assert phase == "granted" or not one.is_promise
        booked = self.calendar.kept(ALWAYS, len(self.snapshot.servers))
        self.snapshot = replace(self.snapshot, servers=replace(self.snapshot.servers, booked=booked))

    def solve(self) -> None:
        target = plan_target_bindings(self.snapshot).plan.target
        self.snapshot = replace(self.snapshot, servers=replace(self.snapshot.servers, target=target, current=target))

    def check(self) -> None:
        """No server serves two reservations at one time, by the definition."""
        q, servers = self.snapshot.reservations, self.snapshot.servers
        for s in range(len(servers)):
            uses = [(one.window.from_s, one.window.until_s) for one in self.calendar.scheduled if s in one.rows]
            if servers.target[s] >= 0:
                end_s = self.calendar.ends_s.get(str(q.name[servers.target[s]]), np.inf)
                uses.append((self.now.timestamp(), end_s))
            uses.sort()
            assert all(until <= start for (_, until), (start, _) in pairwise(uses)), uses
        for one in self.calendar.scheduled:
            if one.is_promise:
                value = np.array([one.spec.rru.get(t, 0.0) for t in self.snapshot.hardware_types])
                of_msb = np.bincount(
                    self.snapshot.server_msb[one.rows], value[servers.hardware_type[one.rows]], minlength=4
                )
                lost = of_msb.max() if one.spec.survives_msb_loss else 0.0
                assert of_msb.sum() - lost >= one.spec.capacity_rru - 1e-6


@settings(max_examples=40, deadline=None)
@given(asked=requests(), solves=st.booleans())
def test_a_start_that_was_promised_is_whole(asked: list[Asked], solves: bool) -> None:
    story = Story()
    for day in range(DAYS + 1):
        story.advance(day)
        for k, (_, spec) in enumerate(asked):
            if asked[k][0] == day:
                story.ask(f"r{k}", spec)
                story.check()
        if solves:
            story.advance(day)
            story.solve()
        story.check()
