"""Turn a plan's targets into the moves that carry it out, and what reservations hold meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.grants_first import spares_buffer, yields
from libs.domain.loss_axis import loss_axis
from libs.domain.move import MoveStep
from libs.domain.waves import NONE, MovesToMake, MovingState, Promises, RunningRows
from libs.ras.waves.steps import needed_steps, preferred_order, seconds_of

_STEPS = tuple(MoveStep)


def state_of_snapshot(snapshot: FleetSnapshot, buffers: Iterable[int]) -> MovingState:
    """Return the state of a region of which only the snapshot is known: no move runs, every server is clean, and a
    server that changes hands needs another host profile.

    buffers   ids of the shared buffers
    """
    servers, S = snapshot.servers, len(snapshot.servers)
    order = np.argsort(servers.id)
    no, none = np.zeros(S, bool), np.zeros(0, np.int64)
    ids = np.append(snapshot.reservations.id, 0)
    current_id = np.where(servers.current >= FREE, ids[np.maximum(servers.current, FREE)], -1)
    return MovingState(
        id=servers.id[order],
        current_id=current_id[order],
        ready=(servers.available & ~servers.drained)[order],
        unclean=no,
        in_doubt=no,
        profile=np.full(S, -1),
        reservation_profile={},
        buffers=frozenset(buffers),
        running=RunningRows(server_id=none, gone=none.astype(bool), remaining=np.zeros((0, len(_STEPS)), bool)),
    )


def moves_of_plan(snapshot: FleetSnapshot, target: Indices, state: MovingState) -> tuple[MovesToMake, Promises]:
    """Return the moves that bring servers from their present bindings to `target` (S,), and what is held before.

    Servers that are down or in maintenance do not move. Servers of the snapshot that `state` lacks are new and free.
    """
    servers, q = snapshot.servers, snapshot.reservations
    R = len(q)
    at = Aligned(servers.id, state.id)
    is_ready = np.where(at.known, state.ready[at.row], True) & servers.available
    current_id = np.where(at.known, state.current_id[at.row], 0)
    current = rows_of(current_id, q.id)
    is_buffer = np.append(np.isin(q.id, list(state.buffers)), False)
    is_home = np.append(is_buffer[:-1], True)  # a lent server goes there afterwards
    running = Aligned(servers.id, state.running.server_id)
    gone = running.known & state.running.gone[running.row] if len(state.running.server_id) else np.zeros(len(at), bool)
    wanted = np.maximum(target, FREE)
    lent_to = lent_to_rows(state, at, q.id)
    stays = (lent_to != FREE) & (lent_to == current) & is_home[wanted]  # until the loan is over
    leaves = (current_id != 0) & (wanted == FREE)  # also from a reservation that was deleted, which has no row
    rows = np.flatnonzero(is_ready & ~stays & (leaves | ((wanted != FREE) & ((current != wanted) | gone))))
    needed = _needed(
        state,
        at.row[rows],
        at.known[rows],
        runs=(current_id[rows] != 0) & ~(is_buffer[current[rows]] & ~servers.in_use[rows]),
        to=wanted[rows],
        to_buffer=is_buffer[wanted[rows]],
        reservation_ids=q.id,
        running=running,
        rows=rows,
    )
    seconds_s, steps = seconds_of(needed, state.step_s), np.any(list(needed.values()), axis=0)
    rows, seconds_s = rows[steps], seconds_s[steps]  # the others enter or leave a shared buffer without a step
    order = preferred_order(
        urgent=is_buffer[current[rows]] & (wanted[rows] != FREE),
        in_use=servers.in_use[rows],
        to_none=wanted[rows] == FREE,
        key=servers.id[rows],
    )
    rows, seconds_s = rows[order], seconds_s[order]
    rru = np.vstack([q.rru, np.zeros((1, q.rru.shape[1]))])  # the last row stands for no reservation
    kind, to = servers.hardware_type[rows], wanted[rows].astype(np.int64)
    granted = q.capacity_rru if snapshot.promised_rru is None else np.minimum(q.capacity_rru, snapshot.promised_rru)
    guarded = (current[rows] >= 0) & ~is_buffer[current[rows]]
    waits = np.append((granted < q.capacity_rru) & ~is_buffer[:-1], False)
    axis, domain = loss_axis(snapshot.losses, snapshot.measures[:1])
    moves = MovesToMake(
        server=rows,
        domain=domain[rows].astype(np.int64),
        source=np.where(guarded, current[rows], NONE),
        to=to,
        leaves_rru=rru[current[rows], kind] * guarded,
        brings_rru=rru[to, kind],
        gone=gone[rows],
        takes=(current_id[rows] != 0) & ~gone[rows] & ~is_buffer[current[rows]],
        seconds=seconds_s,
        needless=is_buffer[to] | (spares_buffer(waits[current[rows]], waits[to]) & (current[rows] >= 0)),
        yields=yields(waits[current[rows]], waits[to]) & (to >= 0) & ~is_buffer[to],
    )
    there = is_ready & (current >= 0) & ~gone
    held = np.zeros((R, axis.columns))
    held_rru = rru[current[there], servers.hardware_type[there]]
    np.add.at(held, (current[there, None], domain[there]), held_rru[:, None])
    return moves, Promises(
        name=q.name,
        capacity_rru=q.capacity_rru,
        granted_rru=granted,
        axis=axis,
        held_rru=held,
        msb_servers=np.bincount(snapshot.server_msb, minlength=axis.msbs),
    )


def lent_to_rows(state: MovingState, at: Aligned, reservation_ids: Ints) -> Ints:
    """Return the row of the reservation that has each server on loan, or gets it; FREE: none."""
    if state.lent_to is None:
        return np.full(len(at), FREE, np.int64)
    return rows_of(np.where(at.known, state.lent_to[at.row], 0), reservation_ids)


class Aligned:
    """The positions of ids among sorted `known_ids`: `row` (N,) is meaningful where `known` (N,) is True."""

    def __init__(self, ids: Ints, known_ids: Ints) -> None:
        self.row = np.minimum(np.searchsorted(known_ids, ids), max(len(known_ids) - 1, 0))
        self.known: Bools = known_ids[self.row] == ids if len(known_ids) else np.zeros(len(ids), bool)

    def __len__(self) -> int:
        return len(self.row)


def rows_of(ids: Ints, reservation_ids: Ints) -> Ints:
    """Return the row of each reservation id; FREE for 0 and for a deleted reservation."""
    order = np.argsort(reservation_ids)
    found = Aligned(ids, reservation_ids[order])
    return np.where(found.known, np.append(order, 0)[found.row], FREE).astype(np.int64)


def _needed(
    state: MovingState,
    row: Ints,
    known: Bools,
    *,
    runs: Bools,
    to: Ints,
    to_buffer: Bools,
    reservation_ids: Ints,
    running: Aligned,
    rows: Ints,
) -> dict[MoveStep, Bools]:
    """Return the steps that each move needs: the remaining ones of a running move, else all.

    runs    the server may run something. An unclean server of a shared buffer is one of these, too.
    """
    profiles = np.array([state.reservation_profile.get(int(i), -2) for i in reservation_ids] + [-2], np.int64)
    unclean = known & state.unclean[row]
    needed = dict(
        needed_steps(
            runs=runs | (known & (state.current_id[row] != 0) & unclean),
            joins=(to != NONE) & ~to_buffer,
            other_profile=(to != NONE) & (~known | (state.profile[row] != profiles[to])),
            unclean=unclean,
            in_doubt=known & state.in_doubt[row],
        )
    )
    is_running = running.known[rows]
    if is_running.any():
        remaining = state.running.remaining[running.row[rows]]
        needed = {step: np.where(is_running, remaining[:, k], needed[step]) for k, step in enumerate(_STEPS)}
    return needed
