"""Cost units of hardware types, and of what owners hold or may come to hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from libs.domain.cost_units import CostTable, most_cost_units
from libs.domain.guest import with_amounts
from libs.domain.region import Region
from libs.domain.reservation import ReservationSpec
from libs.store.capacity.coverage import BY_TARGET
from libs.store.fleet.guests import ASKED, load_guest_amounts
from libs.store.fleet.present_classes import load_units
from libs.store.fleet.resources import load_amounts
from libs.store.platform.database import Transaction

_MSBS = """
    SELECT datacenters.name, count(*) FROM msbs JOIN datacenters USING (datacenter_id)
    WHERE msbs.region_id = :region_id GROUP BY 1"""
_DOMAINS = "SELECT kind, count(*) FROM domains WHERE region_id = :region_id GROUP BY 1"
_USES = f"""
    WITH mine AS (
        SELECT * FROM reservations
        WHERE region_id = :region_id AND owner = ANY(:owners) AND kind = 'guaranteed' AND host_reservation_id IS NULL
    ), bound AS (  -- a server is in one part only: by its target, else by its present binding, else by one in doubt
        SELECT mine.reservation_id, server_id, hardware_type_id, true AS targeted FROM mine
        JOIN servers ON target_reservation_id = mine.reservation_id WHERE {BY_TARGET}
        UNION ALL
        SELECT mine.reservation_id, server_id, hardware_type_id, false FROM mine
        JOIN servers ON current_reservation_id = mine.reservation_id
        WHERE target_reservation_id IS DISTINCT FROM mine.reservation_id AND {BY_TARGET}
        UNION ALL
        SELECT mine.reservation_id, server_id, hardware_type_id, false FROM mine
        JOIN servers ON servers.region_id = :region_id AND in_doubt_reservation_id = mine.reservation_id
        WHERE target_reservation_id IS DISTINCT FROM mine.reservation_id
          AND current_reservation_id IS DISTINCT FROM mine.reservation_id AND {BY_TARGET}
        UNION ALL
        SELECT mine.reservation_id, server_id, hardware_type_id, false FROM mine
        JOIN booked_servers USING (reservation_id) JOIN servers USING (server_id)
        WHERE {BY_TARGET}  -- its booking ends when it begins, so no other part has these
    ), by_type AS (
        SELECT reservation_id, name, count(*) AS held, count(*) FILTER (WHERE targeted) AS targeted
        FROM bound JOIN hardware_types USING (hardware_type_id) GROUP BY 1, 2
    ), held AS (
        SELECT reservation_id, jsonb_object_agg(name, held) AS held, jsonb_object_agg(name, targeted) AS targeted
        FROM by_type GROUP BY 1
    )
    SELECT owner, reservation_id, name, deleted_at IS NULL AS live, capacity_rru, survives_msb_loss,
           survives_loss_of, msb_share_max, affinity_follows,
           coalesce(held, '{{}}') AS held, coalesce(targeted, '{{}}') AS targeted,
           coalesce((SELECT jsonb_object_agg(hardware_types.name, rru)
                     FROM reservation_rru JOIN hardware_types USING (hardware_type_id)
                     WHERE reservation_rru.reservation_id = mine.reservation_id), '{{}}') AS rru,
           coalesce((SELECT jsonb_object_agg(datacenters.name, share)
                     FROM reservation_affinity JOIN datacenters USING (datacenter_id)
                     WHERE reservation_affinity.reservation_id = mine.reservation_id), '{{}}') AS affinity,
           coalesce((SELECT jsonb_object_agg(resource, amount) FROM {ASKED} AS asked
                     WHERE asked.reservation_id = mine.reservation_id), '{{}}') AS resources,
           ARRAY(SELECT datacenters.name FROM reservation_datacenters JOIN datacenters USING (datacenter_id)
                 WHERE reservation_datacenters.reservation_id = mine.reservation_id) AS datacenters
    FROM mine LEFT JOIN held USING (reservation_id) WHERE deleted_at IS NULL OR held IS NOT NULL
    ORDER BY reservation_id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The cost units that a reservation counts toward the quota of its owner.

    live      False: it was deleted, and some servers are still bound to it
    most      the most that it may come to hold; 0 if it was deleted
    held      of its servers, by target and by present or doubtful binding, or of those that are booked for its start;
              down and retiring ones excepted
    targeted  the part of `held` by target
    """

    owner: str
    reservation_id: int
    name: str
    live: bool
    most: float
    held: float
    targeted: float

    @property
    def counts(self) -> float:
        """Return the cost units that count toward the quota."""
        return max(self.most, self.held)


def load_cost_table(tx: Transaction, region: Region) -> CostTable:
    """Return the cost units of all hardware types, and the MSBs and further domains of the region."""
    units = load_units(tx, region.region_id)
    msbs = tx.execute(sa.text(_MSBS), {"region_id": region.region_id}).tuples().all()
    domains = tx.execute(sa.text(_DOMAINS), {"region_id": region.region_id}).tuples().all()
    return CostTable(
        units=units,
        msbs=dict(msbs),
        affinity_tolerance=region.policy.affinity_tolerance,
        domains=dict(domains),
        amounts=with_amounts(load_amounts(tx), load_guest_amounts(tx, region.region_id)),
    )


def load_uses(tx: Transaction, region_id: int, owners: Sequence[str], table: CostTable) -> list[Use]:
    """Return a row for each reservation of `owners` that counts toward a quota."""
    rows = tx.execute(sa.text(_USES), {"region_id": region_id, "owners": list(owners)}).mappings()
    return [
        Use(
            owner=row["owner"],
            reservation_id=row["reservation_id"],
            name=row["name"],
            live=row["live"],
            most=most_cost_units(_spec(row), table) if row["live"] else 0.0,
            held=_units(row["held"], table),
            targeted=_units(row["targeted"], table),
        )
        for row in rows
    ]


def _units(servers: Mapping[str, int], table: CostTable) -> float:
    """Return the cost units of a number of servers of each hardware type."""
    return sum(number * table.of(name) for name, number in sorted(servers.items()))


def _spec(row: sa.RowMapping) -> ReservationSpec:
    return ReservationSpec(
        capacity_rru=row["capacity_rru"],
        rru=row["rru"],
        resources=row["resources"],
        survives_msb_loss=row["survives_msb_loss"],
        survives_loss_of=tuple(row["survives_loss_of"]),
        affinity=row["affinity"],
        affinity_follows=row["affinity_follows"],
        msb_share_max=row["msb_share_max"],
        datacenters=tuple(row["datacenters"]),
    )
