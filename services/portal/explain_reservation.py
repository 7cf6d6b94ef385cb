"""Load the data for an explanation, and make the explanation."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.readiness import ReadinessHistory
from libs.domain.reservation import Reservation
from libs.domain.reservation_motion import ReservationMotion
from libs.ras.explain.explanation import Explanation, explain, last_solve_of
from libs.ras.explain.move import MoveEffect, alternatives, move_effect
from libs.store.capacity.readiness_history import load_readiness_histories
from libs.store.capacity.reservations import live_names, load_reservation
from libs.store.capacity.ungranted import load_waiting
from libs.store.fleet.servers import load_server
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.usable_servers import load_usable_servers
from libs.store.plans.targets_history import load_last_solve_changes
from libs.store.platform.database import Database
from libs.web.names import unknown_name
from libs.web.problems import FieldError, Problem, invalid
from libs.web.solving_slots import solving_slot
from services.portal.reservation_motion import motion_of

EXPLAIN_S_MAX = 10.0
"""Seconds for the search for deciders while a person waits for the answer."""
FREE_NAME = "free"
"""The value of `to` for a server bound to no reservation."""


def explain_reservation(
    database: Database, reservation_id: int, *, holder: int | str, now: datetime
) -> tuple[Explanation, Reservation, ReadinessHistory, ReservationMotion, float | None]:
    """Explain a reservation. Return the explanation, and the reservation with its history and what moves at it. Return
    also the RRU granted so far of a request that waits; None: nothing waits. The explanation of a guest is that of its
    host.

    Raises NotFound, and Problem (409) if it was deleted or has not begun.
    """
    with solving_slot(holder):
        with database.snapshot() as tx:
            reservation = _live(load_reservation(tx, reservation_id))
            snapshot = load_fleet_snapshot(tx, reservation.region)
            last = load_last_solve_changes(tx, reservation.region)
            usable = np.isin(snapshot.servers.id, load_usable_servers(tx, reservation.region))
            history = load_readiness_histories(tx, [reservation_id])[reservation_id]
            motion = motion_of(tx, reservation, now)
            granted_rru = load_waiting(tx, [reservation_id]).get(reservation_id)
        row = _row(snapshot, reservation)
        solved = None if last is None else last_solve_of(snapshot, row, last[0], last[1])
        found = explain(snapshot, row, last_solve=solved, usable=usable, time_s_max=EXPLAIN_S_MAX)
        return found, reservation, history, motion, granted_rru


def explain_server(
    database: Database, reservation_id: int, server: str, to: str | None, *, holder: int | str
) -> list[MoveEffect]:
    """Return the effects of binding a server of the reservation to `to`. Without `to`, return them for the most
    promising places.

    Raises NotFound, and Problem: 409 if the reservation was deleted or has not begun, 422 for an unknown server or
    `to`.
    """
    with solving_slot(holder):
        with database.snapshot() as tx:
            reservation = _live(load_reservation(tx, reservation_id))
            snapshot = load_fleet_snapshot(tx, reservation.region)
            names = live_names(tx, reservation.region)
        found = np.flatnonzero(snapshot.servers.name == server)
        mine = snapshot.servers.name[snapshot.servers.target == _row(snapshot, reservation)]
        if not len(found):
            raise invalid(unknown_name("server", "server of it", server, mine.tolist(), location="query"))
        row = int(found[0])
        if snapshot.servers.target[row] != _row(snapshot, reservation) and to != reservation.name:
            message = _elsewhere(snapshot, row, reservation.name)
            raise invalid(FieldError(field="server", location="query", code="not_its_server", message=message))
        return _effects(snapshot, names, row, to)


def explain_any_server(database: Database, server_id: int, to: str | None, *, holder: int | str) -> list[MoveEffect]:
    """Return the effects of binding a server, free or not, to `to`. Without `to`, return them for the most promising
    places.

    Raises NotFound, and Problem: 409 if the server has left the fleet, 422 for an unknown `to`.
    """
    with solving_slot(holder):
        with database.snapshot() as tx:
            server = load_server(tx, server_id)
            snapshot = load_fleet_snapshot(tx, server.region)
            names = live_names(tx, server.region)
        found = np.flatnonzero(snapshot.servers.id == server_id)
        if not len(found):
            raise Problem(409, "wrong_phase", f"{server.name} has left the fleet: there is nothing to explain.")
        return _effects(snapshot, names, int(found[0]), to)


def _effects(snapshot: FleetSnapshot, names: Collection[str], row: int, to: str | None) -> list[MoveEffect]:
    """Return the effect of binding the server in `row` to `to`, or to its host; None: to each of the most promising
    places. `names`: of the live reservations. Raises Problem (422) for a `to` that is unknown or has not begun.
    """
    if to is None:
        return list(alternatives(snapshot, row))
    if to == FREE_NAME and to not in names:
        return [move_effect(snapshot, row, FREE)]
    hosts = {guest.name: guest.host for guest in snapshot.guests}
    wanted = np.flatnonzero(snapshot.reservations.name == hosts.get(to, to))
    if not len(wanted):
        if to in names:
            message = "has not begun: it has no server yet"
            raise invalid(FieldError(field="to", location="query", code="not_begun", message=f"{to} {message}"))
        known = [*snapshot.reservations.name.tolist(), FREE_NAME]
        raise invalid(unknown_name("to", "reservation", to, known, location="query"))
    return [move_effect(snapshot, row, int(wanted[0]))]


def _elsewhere(snapshot: FleetSnapshot, row: int, asked: str) -> str:
    target = snapshot.servers.target[row]
    ask = f"ask what {asked} would gain from it with to={asked} (`--to {asked}`)"
    if target < 0:
        return f"is bound to no reservation: {ask}"
    holder = snapshot.reservations.name[target]
    return f"is bound to {holder} and not to {asked}: explain {holder} instead, or {ask}"


def _live(reservation: Reservation) -> Reservation:
    if reservation.deleted_at is not None:
        raise Problem(409, "wrong_phase", f"{reservation.name} was deleted: there is nothing to explain.")
    if reservation.scheduled:
        booked = "" if reservation.booking is None else f" {reservation.booking.message}"
        detail = f"{reservation.name} has not begun: it has no server yet.{booked}"
        raise Problem(409, "not_begun", detail)
    return reservation


def _row(snapshot: FleetSnapshot, reservation: Reservation) -> int:
    """Return the row of a reservation; of a guest, that of its host."""
    return int(np.flatnonzero(snapshot.reservations.name == (reservation.spec.guest_of or reservation.name))[0])
