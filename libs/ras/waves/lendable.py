"""Find the idle servers that a plan may lend, and those that are lent already. Pure. See docs/designs/0038."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.loss_axis import loss_axis
from libs.domain.move import MoveStep
from libs.domain.power_use import is_limited
from libs.domain.spare import LENT_SHARE_MAX
from libs.domain.wave_loans import Lendable, WaveLoans
from libs.domain.waves import NEVER, NONE, MovingState
from libs.ras.waves.moves_of_plan import Aligned, lent_to_rows, rows_of
from libs.ras.waves.steps import DEFAULT_STEP_S


def lendable_of(snapshot: FleetSnapshot, target: Indices, state: MovingState) -> Lendable:
    """Return the servers that the mover may lend while the moves to `target` (S,) are under way, and those that it has
    lent already. They are up, clean, and free or idle in a shared buffer, and they stay there.
    """
    servers, q = snapshot.servers, snapshot.reservations
    R = len(q)
    at = Aligned(servers.id, state.id)
    is_up = at.known & state.ready[at.row] & servers.available & ~servers.leaving
    current = rows_of(np.where(at.known, state.current_id[at.row], 0), q.id)
    buffers = np.append(np.isin(q.id, list(state.buffers)), True)  # the last: free
    wanted = np.maximum(target, FREE)
    lent_to = lent_to_rows(state, at, q.id)
    moves = np.isin(servers.id, state.running.server_id)
    idle = is_up & (current == wanted) & ~state.unclean[at.row] & ~state.in_doubt[at.row] & ~moves & (lent_to == FREE)
    # a free server below a limit on power would add watts that no plan counts
    barred = np.where(wanted == FREE, is_limited(snapshot), servers.in_use)
    rows = np.flatnonzero(idle & buffers[wanted] & ~barred)
    _, domain = loss_axis(snapshot.losses, snapshot.measures[:1])
    columns = (domain, servers.hardware_type, wanted, np.where(at.known, state.profile[at.row], -1))
    kinds, number = np.unique(np.column_stack([column[rows] for column in columns]), axis=0, return_counts=True)
    of_buffer = is_up & (wanted != FREE) & buffers[wanted]
    sizes = np.bincount(wanted[of_buffer], minlength=R)
    away = sizes - np.bincount(wanted[rows[wanted[rows] != FREE]], minlength=R)
    room = {int(b): int(LENT_SHARE_MAX * sizes[b]) - int(away[b]) for b in np.flatnonzero(sizes)}
    kinds = kinds.astype(np.int64)
    kind, home, profile = kinds[:, -3:].T
    out = np.flatnonzero((lent_to != FREE) & is_up)
    step = {one: state.step_s.get(one, DEFAULT_STEP_S[one]) for one in MoveStep}
    return Lendable(
        domain=kinds[:, :-3],
        hardware_type=kind,
        buffer=np.where(home == FREE, NONE, home),
        profile=profile,
        number=number.astype(np.int64),
        room={buffer: number for buffer, number in room.items() if number > 0},
        type_rru=q.rru,
        borrows=~np.isfinite(q.msb_limit_rru)
        & ~q.limits_domains
        & ~q.asks_resources
        & q.allowed.all(1)
        & ~buffers[:-1],
        wanted_profile=np.array([state.reservation_profile.get(int(i), -2) for i in q.id], np.int64),
        join_s=step[MoveStep.JOIN],
        profile_s=step[MoveStep.HOST_PROFILE],
        return_s=step[MoveStep.PREEMPT] + step[MoveStep.CLEAN],
        lent=WaveLoans(
            reservation=lent_to[out],
            domain=domain[out].astype(np.int64),
            rru=q.rru[lent_to[out], servers.hardware_type[out]],
            begins=np.where(current[out] == lent_to[out], -1, 0),
            ends=np.full(len(out), NEVER),
            foretold=np.zeros(len(out), bool),
        ),
    )
