"""A region in a few numbers, by statements that each read its servers at most once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from libs.domain.domain_kind import MSB_KIND
from libs.domain.power import FULL_W, IDLE_W
from libs.domain.region_summary import HardwareTypeSummary, RegionSummary, ShortReservation
from libs.domain.resources import is_resource
from libs.domain.server_counts import ServerCounts
from libs.store.capacity.coverage import SHORT, coverage_query
from libs.store.capacity.readiness import load_region_readiness
from libs.store.capacity.readiness_history import load_worst
from libs.store.fleet.known_names import placed_kinds
from libs.store.fleet.regions import load_region
from libs.store.fleet.resources import load_amounts
from libs.store.platform.database import Transaction
from libs.store.platform.load_figures import load_last_solves
from libs.store.regions.server_counts import count_by_place

NAMED_MAX = 10
"""Reservations of a kind that a summary names."""

# The shortfall of a host counts that of its guests already.
_COVERED = f"""
    WITH wanted AS (
        SELECT reservation_id, name, kind, capacity_rru, survives_msb_loss, survives_loss_of, host_reservation_id
        FROM reservations
        WHERE region_id = :region_id AND deleted_at IS NULL AND NOT scheduled
    ), {coverage_query("target")}, short AS (
        SELECT reservation_id, name, coverage.capacity_rru, missing_rru AS shortfall_rru,
               CASE WHEN phase <> 'granted' THEN message END AS message
        FROM coverage JOIN wanted USING (reservation_id) LEFT JOIN reservation_statuses USING (reservation_id)
        WHERE {SHORT} ORDER BY missing_rru DESC, reservation_id LIMIT :named_max
    )
    SELECT count(*) AS reservations,
           count(*) FILTER (WHERE {SHORT}) AS degraded,
           coalesce(sum(coverage.capacity_rru), 0) AS capacity_rru,
           coalesce(sum(worst_rru), 0) AS embedded_buffer_rru,
           coalesce(sum(total_rru) FILTER (WHERE kind = 'shared_buffer'), 0) AS shared_buffer_rru,
           coalesce(sum(missing_rru) FILTER (WHERE {SHORT} AND host_reservation_id IS NULL), 0) AS shortfall_rru,
           (SELECT coalesce(json_agg(short), '[]') FROM short) AS short,
           (SELECT coalesce(json_agg(kind ORDER BY kind <> '{MSB_KIND}', kind), '[]') FROM (
                SELECT '{MSB_KIND}' AS kind FROM wanted WHERE survives_msb_loss
                UNION SELECT unnest(survives_loss_of) FROM wanted) AS survived) AS survived_kinds
    FROM coverage JOIN wanted USING (reservation_id)"""


def load_region_summary(tx: Transaction, region_name: str) -> RegionSummary:
    """Return the counts of a region's servers and buffers. Raises NotFound."""
    region_id = load_region(tx, region_name).region_id
    covered = tx.execute(sa.text(_COVERED), {"region_id": region_id, "named_max": NAMED_MAX}).mappings().one()
    places = count_by_place(tx, region_name)
    return RegionSummary(
        hardware_types=_by_type(places),
        places=places,
        domain_kinds=placed_kinds(tx, region_id),
        **{
            **covered,
            "short": tuple(ShortReservation(**one) for one in covered["short"]),
            "survived_kinds": tuple(covered["survived_kinds"]),
        },
        readiness=load_region_readiness(tx, [region_name]).get(region_name),
        worst=load_worst(tx, region_id, most=NAMED_MAX),
        churn=next((solve.churn for solve in load_last_solves(tx, region_name)), None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCounts:
    """The names that a request may give: the hardware types of a region, the further kinds of domain of which its
    servers have places, and the resources of which they have amounts. All are in order of name.
    """

    types: tuple[HardwareTypeSummary, ...]
    domain_kinds: tuple[str, ...]
    resources: tuple[str, ...]


def load_type_counts(tx: Transaction, region_name: str) -> TypeCounts:
    """Return the names that a request may give. Raises NotFound."""
    types = _by_type(count_by_place(tx, region_name))
    amounts = load_amounts(tx)
    found = {name for one in types for name in amounts.get(one.hardware_type, {}) if is_resource(name)}
    return TypeCounts(
        types=types,
        domain_kinds=tuple(placed_kinds(tx, load_region(tx, region_name).region_id)),
        resources=tuple(sorted(found - {IDLE_W, FULL_W})),
    )


def _by_type(places: Iterable[ServerCounts]) -> tuple[HardwareTypeSummary, ...]:
    """Return the sums over the places of each hardware type, by name."""
    of_type: dict[str, list[ServerCounts]] = {}
    for one in places:
        of_type.setdefault(one.hardware_type, []).append(one)
    return tuple(
        HardwareTypeSummary(
            hardware_type=name,
            servers=sum(one.servers for one in found),
            bound=sum(one.bound for one in found),
            free=sum(one.free for one in found),
            in_use=sum(one.in_use for one in found),
            to_move=sum(one.to_move for one in found),
            unavailable=sum(one.down for one in found),
            in_maintenance=sum(one.maintenance for one in found),
        )
        for name, found in sorted(of_type.items())
    )
