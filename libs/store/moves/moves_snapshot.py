"""The input of the mover: the running moves of a region, and the servers that wait for a move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats, Ints
from libs.domain.domain_kind import MSB_KIND
from libs.domain.holding import Holding, ResourceHoldings
from libs.domain.move import MoveStep, RunningMove
from libs.domain.moves_snapshot import MovesSnapshot, WaitingServers
from libs.domain.region_condition import RegionConditionType
from libs.store.capacity.ungranted import load_ungranted
from libs.store.fleet.loss_places import LossPlaces, load_loss_places
from libs.store.fleet.regions import load_region
from libs.store.fleet.resource_worths import ResourceWorths, load_resource_worths
from libs.store.moves.exceptions import load_exceptions
from libs.store.moves.foretold_loans import load_foretold_s
from libs.store.moves.movers import load_mover, load_overstaying
from libs.store.moves.spares import GOAL, LENT, load_idle_servers, load_spares
from libs.store.moves.urgent_departures import load_urgent_ids
from libs.store.moves.waits import load_known_waits
from libs.store.platform.bulk import copy_out, load_columns
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound

MINUTE = timedelta(minutes=1)
"""Window over which started moves are counted."""

_RUNNING = f"""
    SELECT move_id, moves.generation, server_id, servers.generation, servers.name, msb_id, from_reservation_id,
           to_reservation_id, leaves.name, joins.name, steps, step_index, attempt, step_started_at,
           to_reservation_id IS NOT DISTINCT FROM {GOAL}
               AND (current_reservation_id IS DISTINCT FROM to_reservation_id
                    OR coalesce(joins.host_profile <> servers.host_profile, true)),
           unavailability = 'none',
           servers.host_profile,
           CASE WHEN asked_at IS NULL THEN joins.host_profile
                ELSE coalesce(asked_host_profile, joins.host_profile) END,
           coalesce(leaves.kind = 'shared_buffer', false), ask_at,
           calls_failed, asked_at IS NOT NULL, coalesce(loses.rru, 0), {{domain_ids}}
    FROM moves JOIN servers USING (server_id) JOIN racks USING (rack_id) {{joins}}
    LEFT JOIN reservations AS leaves ON leaves.reservation_id = from_reservation_id
    LEFT JOIN reservations AS joins ON joins.reservation_id = to_reservation_id
    LEFT JOIN reservation_rru AS loses
        ON loses.reservation_id = from_reservation_id AND loses.hardware_type_id = servers.hardware_type_id
    WHERE moves.status = 'running' AND {{chosen}} ORDER BY move_id"""

# A server waits while it is in planned maintenance or down. It also waits while it has an open dead letter, until
# an operator resolves it. A lent server goes to the reservation that it is lent to.
_WAITING = f"""
    SELECT server_id, servers.generation, msb_id, coalesce(current_reservation_id, in_doubt_reservation_id, 0),
           coalesce({GOAL}, 0), in_use,
           coalesce(joins.host_profile <> servers.host_profile, false), unclean, in_doubt_reservation_id IS NOT NULL,
           coalesce(leaves.kind = 'shared_buffer', false), coalesce(joins.kind = 'shared_buffer', false),
           {LENT}, coalesce(loses.rru, 0){{domain_ids}}
    FROM servers JOIN racks USING (rack_id) {{joins}}
    LEFT JOIN reservations AS joins ON joins.reservation_id = {GOAL}
    LEFT JOIN reservations AS leaves ON leaves.reservation_id = current_reservation_id
    LEFT JOIN reservation_rru AS loses
        ON loses.reservation_id = current_reservation_id AND loses.hardware_type_id = servers.hardware_type_id
    WHERE (%(room)s OR leaves.kind = 'shared_buffer' OR spare_for_reservation_id IS NOT NULL)
      AND servers.region_id = %(region_id)s
      AND {{reason}} AND unavailability = 'none'
      AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running')
      AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND dead_letter = 'open')
    ORDER BY server_id"""
# The first three lines are the conditions of three indexes.
ASTRAY = f"""(current_reservation_id IS DISTINCT FROM target_reservation_id
           OR (in_doubt_reservation_id IS NOT NULL OR (unclean AND current_reservation_id IS NULL))
           OR spare_for_reservation_id IS NOT NULL)
      AND (current_reservation_id IS DISTINCT FROM {GOAL}
           OR in_doubt_reservation_id IS NOT NULL OR (unclean AND current_reservation_id IS NULL))"""
_OTHER_PROFILE = """current_reservation_id = target_reservation_id AND joins.host_profile <> servers.host_profile
      AND current_reservation_id = ANY(%(changed)s)"""
# Reservations whose host profile was changed while they had servers, and whose servers do not all have it yet.
_CHANGED = sa.text("""
    SELECT reservation_id FROM reservations
    WHERE region_id = :region_id AND profile_changed AND deleted_at IS NULL
      AND EXISTS (SELECT FROM servers WHERE current_reservation_id = reservation_id
                  AND servers.host_profile <> reservations.host_profile)
    ORDER BY reservation_id""")
_FIELDS = {
    "id": ">i8",
    "generation": ">i8",
    "msb_id": ">i8",
    "current_id": ">i8",
    "target_id": ">i8",
    "in_use": "?",
    "other_profile": "?",
    "unclean": "?",
    "in_doubt": "?",
    "from_buffer": "?",
    "to_buffer": "?",
    "lent": "?",
    "leaves_rru": ">f8",
}
MSBS = sa.text("""
    SELECT msb_id, count(*) AS servers FROM servers JOIN racks USING (rack_id)
    WHERE servers.region_id = :region_id AND decommissioned_at IS NULL GROUP BY msb_id""")
_STARTED = sa.text("""
    SELECT msb_id, count(*) AS moves FROM moves JOIN servers USING (server_id) JOIN racks USING (rack_id)
    WHERE moves.region_id = :region_id AND moves.created_at > :since GROUP BY msb_id""")
# The reservations that servers are to leave.
_GIVING = """
    WITH giving AS (
        SELECT DISTINCT current_reservation_id AS reservation_id FROM servers
        WHERE region_id = %(region_id)s AND current_reservation_id IS DISTINCT FROM target_reservation_id
          AND current_reservation_id IS NOT NULL
        UNION SELECT unnest(CAST(%(changed)s AS bigint[]))
    )
    SELECT reservation_id, name, capacity_rru, {survives} FROM giving JOIN reservations USING (reservation_id)
    WHERE kind = 'guaranteed' AND NOT scheduled AND deleted_at IS NULL ORDER BY reservation_id"""
# Their holdings now, without servers that are asked to leave already.
_HELD = """
    SELECT current_reservation_id, coalesce(sum(rru) FILTER (WHERE unavailability = 'none' AND asked_at IS NULL), 0),
           count(*) FILTER (WHERE unavailability = 'none' AND asked_at IS NULL), {type}, {domains}
    FROM servers JOIN racks USING (rack_id) {joins}
    LEFT JOIN reservation_rru ON reservation_rru.reservation_id = current_reservation_id
                             AND reservation_rru.hardware_type_id = servers.hardware_type_id
    LEFT JOIN moves ON moves.server_id = servers.server_id AND moves.status = 'running'
    WHERE current_reservation_id = ANY(%(ids)s)
    GROUP BY current_reservation_id, {type}, {domains} ORDER BY current_reservation_id"""
_WAITING_SINCE = sa.text(
    "SELECT changed_at FROM region_conditions WHERE region_id = :region_id AND type = :type AND status = 'False'"
)
_STEPS = {step.value: step for step in MoveStep}


def load_moves_snapshot(tx: Transaction, region_name: str, *, moves_max: int, now: datetime) -> MovesSnapshot:
    """Return the running moves and the waiting servers of a region. Raises NotFound.

    `tx` must come from Database.snapshot(). The bound on running moves is the bound of the region's mover, or
    `moves_max` if the mover has none. If the running moves reach the bound, read only the servers of shared buffers,
    and among them the replacements.
    """
    region_id = load_region(tx, region_name).region_id
    mover = load_mover(tx, region_name)
    places, worths = load_loss_places(tx, region_id), load_resource_worths(tx, region_id)
    is_typed = worths.measures > 1
    query = _running_query(places, "moves.region_id = :region_id", is_typed=is_typed)
    running = tuple(_running(row) for row in tx.execute(query, {"region_id": region_id}))
    room = len(running) < (mover.bounds.moves_max or moves_max)
    changed = tx.execute(_CHANGED, {"region_id": region_id}).scalars().all()
    of_waiting = {"region_id": region_id, "room": room, "changed": list(changed)}
    further = "".join(f", {domain}" for domain in _places(places, is_typed=is_typed))
    of_place = {"domain_ids": further, "joins": places.joins}
    fields = {**_FIELDS, **places.fields("domain", ">i8", msb=False), **({"type": ">i8"} if is_typed else {})}
    found = copy_out(tx, _WAITING.format(reason=ASTRAY, **of_place), of_waiting, fields)
    if changed:
        others = copy_out(tx, _WAITING.format(reason=_OTHER_PROFILE, **of_place), of_waiting, fields)
        found = np.concatenate([found, others])
    native = {name: found[name].astype(np.dtype(kind).newbyteorder("=")) for name, kind in _FIELDS.items()}
    number = len(found)
    domain_ids = np.asarray(places.stacked(found, "domain", msb=False), np.int64)
    if is_typed:
        domain_ids = np.column_stack([domain_ids, found["type"].astype(np.int64)])
    is_asked = number > 0 or any(not move.asked for move in running)
    ungranted = load_ungranted(tx, region_id) if is_asked else {}
    holdings, resources = _holdings(tx, region_id, changed, places, worths, ungranted) if is_asked else ((), ())
    msbs = tx.execute(MSBS, {"region_id": region_id}) if number else ()
    is_rated = number > 0 and mover.bounds.msb_starts_per_minute is not None
    started = tx.execute(_STARTED, {"region_id": region_id, "since": now - MINUTE}) if is_rated else ()
    spares = load_spares(tx, region_id)
    of_waits = {"region_id": region_id, "type": RegionConditionType.ROOM_TO_MOVE.value}
    waiting_since = tx.execute(_WAITING_SINCE, of_waits).scalar_one_or_none()
    return MovesSnapshot(
        region=region_name,
        region_id=region_id,
        running=running,
        waiting=WaitingServers(**native, domain_ids=domain_ids),
        msb_servers={row.msb_id: row.servers for row in msbs},
        mover=mover,
        msb_started={row.msb_id: row.moves for row in started},
        holdings=holdings,
        resources=resources,
        kinds=(MSB_KIND, *places.kinds),
        ungranted=frozenset(ungranted),
        waiting_since=waiting_since,
        spares=spares,
        waits=load_known_waits(tx, region_id),
        exceptions=load_exceptions(tx, region_id),
        hurried=frozenset(load_urgent_ids(tx, region_id)),
        foretold_s=load_foretold_s(tx, region_id),
        overstaying=frozenset(load_overstaying(tx, region_id)),
        idle=None if waiting_since is None else load_idle_servers(tx, region_id, places),
    )


def load_running_move(tx: Transaction, move_id: int) -> RunningMove:
    """Return one running move, as the mover sees it. Raises NotFound."""
    query = _running_query(LossPlaces(()), "move_id = :move_id", is_typed=False)
    row = tx.execute(query, {"move_id": move_id}).one_or_none()
    if row is None:
        raise NotFound("running move", move_id)
    return _running(row)


def _places(places: LossPlaces, *, is_typed: bool) -> tuple[str, ...]:
    """Return the expressions of `WaitingServers.domain_ids`.

    is_typed   whether reservations ask for resources
    """
    return (*places.domains, "servers.hardware_type_id") if is_typed else places.domains


def _running_query(places: LossPlaces, chosen: str, *, is_typed: bool) -> sa.TextClause:
    domain_ids = f"CAST(ARRAY[{', '.join(_places(places, is_typed=is_typed))}] AS bigint[])"
    return sa.text(_RUNNING.format(chosen=chosen, joins=places.joins, domain_ids=domain_ids))


def _holdings(
    tx: Transaction,
    region_id: int,
    changed: Sequence[int],
    places: LossPlaces,
    worths: ResourceWorths,
    ungranted: Mapping[int, float],
) -> tuple[tuple[Holding, ...], tuple[ResourceHoldings, ...]]:
    """Return what the reservations hold that servers are to leave: in RRU, and of each resource that they ask for.

    ungranted   reservation -> RRU granted so far, if it asks for more
    """
    survives = places.fields("survives", "?", msb=True)
    named = ", ".join(f"{expression} AS {name}" for name, expression in zip(survives, places.survives, strict=True))
    columns = {"reservation_id": "i8", "name": "O", "capacity_rru": "f8", **survives}
    giving = load_columns(
        tx, _GIVING.format(survives=named), {"region_id": region_id, "changed": list(changed)}, columns
    )
    ids = giving["reservation_id"]
    domains = ", ".join(("msb_id", *places.domains))
    query = _HELD.format(domains=domains, joins=places.joins, type=worths.type_column)
    fields = {"reservation": ">i8", "rru": ">f8", "servers": ">i8", "type": ">i8"}
    fields |= places.fields("domain", ">i8", msb=True)
    held = copy_out(tx, query, {"ids": ids.tolist()}, fields)
    place, of = places.stacked(held, "domain", msb=True), held["reservation"].astype(np.int64)
    worth = worths.sums(of, held["type"].astype(np.int64), held["rru"].astype(np.float64), held["servers"])
    first, end = (np.searchsorted(of, ids, side) for side in ("left", "right"))

    def holding(n: int, rru: Floats) -> Holding:
        return Holding(
            reservation_id=int(ids[n]),
            reservation=giving["name"][n],
            capacity_rru=float(giving["capacity_rru"][n]),
            granted_rru=ungranted.get(int(ids[n]), math.inf),
            survives=tuple(bool(giving[name][n]) for name in survives),
            held_rru=tuple(_summed(domains, rru[first[n] : end[n]]) for domains in place[first[n] : end[n]].T),
        )

    asks = {int(reservation_id): row for row, reservation_id in enumerate(worths.ids)}
    resources = []
    for m in range(1, worths.measures):
        rows = [n for n, i in enumerate(ids.tolist()) if i in asks and worths.weight[asks[i], m] > 0]
        shares = {
            (int(ids[n]), int(kind)): float(worths.worth[asks[int(ids[n])], t, m])
            for n in rows
            for t, kind in enumerate(worths.type_ids)
        }
        if rows:
            one = ResourceHoldings(
                resource=worths.resources[m - 1],
                holdings=tuple(holding(n, worth[:, m]) for n in rows),
                shares=shares,
                units={int(ids[n]): float(worths.units[asks[int(ids[n])], m]) for n in rows},
            )
            resources.append(one)
    return tuple(holding(n, worth[:, 0]) for n in range(len(ids))), tuple(resources)


def _summed(domains: Ints, rru: Floats) -> dict[int, float]:
    """Return domain -> the sum of the RRU (N,) in the domains (N,)."""
    known, row = np.unique(domains, return_inverse=True)
    return dict(zip(known.tolist(), np.bincount(row, rru).tolist(), strict=True))


def _running(row: sa.Row[Any]) -> RunningMove:
    values = dict(zip(RunningMove.__dataclass_fields__, row, strict=True))
    steps, domain_ids = tuple(_STEPS[step] for step in values["steps"]), tuple(values["domain_ids"])
    return RunningMove(**{**values, "steps": steps, "domain_ids": domain_ids})
