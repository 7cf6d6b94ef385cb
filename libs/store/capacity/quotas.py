"""Quotas: the cost units that an owner may come to hold in a region, and those that count toward the limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sqlalchemy as sa

from libs.domain.cost_units import CostTable, most_cost_units, units_of_types
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import guest_amounts, with_amounts
from libs.domain.page import Page
from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.quota import Quota, QuotaBounds
from libs.domain.region import Region
from libs.domain.reservation import ReservationKind
from libs.domain.stack import Asking, Stack
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.capacity_requests import UNDECIDED, spec_of_json
from libs.store.capacity.cost_units import load_cost_table, load_uses
from libs.store.capacity.stacks import load_stacks
from libs.store.fleet.regions import load_region
from libs.store.platform.compare_and_swap import put_at_generation
from libs.store.platform.database import Transaction
from libs.store.tables import quotas, regions, reservations

_UNDECIDED = """
    SELECT reservation_name, owner, spec, reservation_id FROM capacity_requests
    WHERE region_id = :region_id AND owner = ANY(:owners) AND phase = ANY(:undecided) AND kind <> 'delete'
      AND (CAST(:before AS bigint) IS NULL OR capacity_request_id < :before)
    ORDER BY capacity_request_id"""


def load_quota(
    tx: Transaction,
    region: str,
    owner: str,
    *,
    before: int | None = None,
    question: Asking | None = None,
    except_names: Collection[str] = (),
    lock: bool = False,
) -> Quota:
    """Return an owner's limit in a region, and the cost units that count toward this limit. Raises NotFound if the
    region does not exist.

    before        count only undecided requests with an id below `before`; None: count all
    question      the request in question. The reservation that holds its servers is the owner's own in question.
                  Requests about other reservations that share these servers count by what they add to it
    except_names  names of live reservations that count as the owner's own in question, and not as used. Requests about
                  them do not count
    lock          True: lock the limit until the transaction ends, so that no other transaction changes or reads it to
                  decide
    """
    found = load_region(tx, region)
    if lock:
        row = sa.select(quotas.c.quota_id).where(quotas.c.region_id == found.region_id, quotas.c.owner == owner)
        tx.execute(row.with_for_update())
    [quota] = _load(tx, found, [owner], before, except_names, question)
    return quota


def lock_limits(tx: Transaction, region_id: int) -> None:
    """Lock the limits of a region's owners, so that no request of theirs is accepted until the transaction ends.

    Call it after the lineage of the region is locked, and before reservations and servers are.
    """
    query = sa.select(quotas.c.quota_id).where(quotas.c.region_id == region_id, quotas.c.limit_cost_units.is_not(None))
    tx.execute(query.order_by(quotas.c.quota_id).with_for_update(read=True)).all()


def load_bounds(tx: Transaction, snapshot: FleetSnapshot, changes: PlanChanges) -> QuotaBounds:
    """Return the limits that the changes of a plan must respect.

    Call lock_limits and libs.store.plans.plans.lock_plan first, in the same transaction.
    """
    region, touched = load_region(tx, snapshot.region), changes.touched
    query = sa.select(quotas.c.owner, quotas.c.limit_cost_units).join(
        reservations, sa.and_(reservations.c.region_id == quotas.c.region_id, reservations.c.owner == quotas.c.owner)
    )
    limited = query.where(
        quotas.c.region_id == region.region_id,
        quotas.c.limit_cost_units.is_not(None),
        reservations.c.kind == ReservationKind.GUARANTEED.value,
        reservations.c.reservation_id.in_(touched.id.tolist()),
    )
    limits = dict(tx.execute(limited.distinct().order_by(quotas.c.owner)).tuples().all())
    owner, most, targeted = np.full(len(touched), NONE, np.int32), np.zeros(len(touched)), np.zeros(len(touched))
    elsewhere, number = np.zeros(len(limits)), {name: i for i, name in enumerate(limits)}
    table = load_cost_table(tx, region)
    place = {int(reservation_id): q for q, reservation_id in enumerate(touched.id)}
    for use in load_uses(tx, region.region_id, list(limits), table) if limits else ():
        q = place.get(use.reservation_id)
        if q is None:
            elsewhere[number[use.owner]] += use.counts
        else:
            owner[q], most[q], targeted[q] = number[use.owner], use.most, use.targeted
    servers, rows = snapshot.servers, changes.row
    counts = servers.available[rows] & ~changes.leaving
    units = units_of_types(snapshot, table)[servers.hardware_type[rows]] * counts
    limit = np.array(list(limits.values()), np.float64)
    return QuotaBounds(owner=owner, most=most, targeted=targeted, units=units, limit=limit, elsewhere=elsewhere)


def list_quotas(tx: Transaction, region: str | None, *, after: int | None, limit: int) -> Page[Quota]:
    """Return a page of limits in order of id. `after` is the last id of the page before. Raises NotFound if the region
    does not exist.
    """
    query = sa.select(quotas.c.quota_id, quotas.c.owner, regions.c.name).join(
        regions, regions.c.region_id == quotas.c.region_id
    )
    query = query.where(quotas.c.quota_id > (after or 0), quotas.c.limit_cost_units.is_not(None))
    if region is not None:
        query = query.where(quotas.c.region_id == load_region(tx, region).region_id)
    rows = tx.execute(query.order_by(quotas.c.quota_id).limit(limit + 1)).all()
    loaded: dict[tuple[str, str], Quota] = {}
    for name in {row.name for row in rows}:  # a fixed number of statements for each region on the page
        owners = [row.owner for row in rows if row.name == name]
        loaded |= {(name, quota.owner): quota for quota in _load(tx, load_region(tx, name), owners, None, ())}
    ids = {(row.name, row.owner): row.quota_id for row in rows}
    found = [loaded[row.name, row.owner] for row in rows]
    return Page.of(found, limit, lambda quota: ids[quota.region, quota.owner])


def set_quota(tx: Transaction, region: str, owner: str, limit_cost_units: float | None, *, generation: int) -> Quota:
    """Set the limit of an owner in a region; None lifts it. A limit that was never set is at generation 0.

    Raises NotFound, StaleGeneration.
    """
    region_id = load_region(tx, region).region_id
    key, values = {"region_id": region_id, "owner": owner}, {"limit_cost_units": limit_cost_units}
    changed = put_at_generation(tx, quotas, key, values, generation=generation)
    found = load_quota(tx, region, owner)
    if changed is None:
        raise StaleGeneration("quota of", owner, expected=generation, found=found.generation)
    return found


def _load(
    tx: Transaction,
    region: Region,
    owners: Sequence[str],
    before: int | None,
    except_names: Collection[str],
    question: Asking | None = None,
) -> list[Quota]:
    table = load_cost_table(tx, region)
    uses = load_uses(tx, region.region_id, owners, table)
    used, own = defaultdict[str, float](float), defaultdict[str, float](float)
    counted = {use.reservation_id: use.counts for use in uses}
    mine = {*except_names} | ({_holder(question)} if question is not None else set())
    for use in uses:
        (own if use.live and use.name in mine else used)[use.owner] += use.counts
    values = {
        "region_id": region.region_id,
        "owners": list(owners),
        "before": before,
        "undecided": [phase.value for phase in UNDECIDED],
    }
    found = tx.execute(sa.text(_UNDECIDED), values).tuples()
    undecided = [((name, owner, spec_of_json(spec)), reservation_id) for name, owner, spec, reservation_id in found]
    asked = [request for request, _ in undecided] + ([] if question is None else [question])
    stacks = load_stacks(tx, region.name, [(name, spec) for name, _, spec in asked])
    sharing = defaultdict[tuple[str, str], list[_Undecided]](list)
    for (request, reservation_id), stack in zip(undecided, stacks, strict=False):
        had = counted.get(stack.holder_id(reservation_id), 0.0)
        sharing[request[1], _holder(request)].append(_Undecided(request, stack, had))
    adds: dict[tuple[str, str], float] = {}
    for (owner, holder), requests in sharing.items():
        if question is not None and holder == _holder(question):
            adds[owner, holder] = _added(_Undecided(question, stacks[-1], 0.0), requests, table)
        elif holder not in except_names:
            adds[owner, holder] = _added(None, requests, table)
    columns = quotas.c.owner, quotas.c.limit_cost_units.label("limit_cost_units"), quotas.c.generation
    rows = tx.execute(sa.select(*columns).where(quotas.c.region_id == region.region_id, quotas.c.owner.in_(owners)))
    limits = {row["owner"]: row for row in rows.mappings()}
    return [
        Quota(
            region=region.name,
            owner=owner,
            limit_cost_units=limits[owner]["limit_cost_units"] if owner in limits else None,
            used_cost_units=used[owner],
            pending_cost_units=sum(more for (asking, _), more in adds.items() if asking == owner),
            own_cost_units=own[owner],
            generation=limits[owner]["generation"] if owner in limits else 0,
        )
        for owner in owners
    ]


@dataclass(frozen=True, slots=True)
class _Undecided:
    """A request that is not decided, and the cost units that the holder of its servers counts now."""

    request: Asking
    stack: Stack
    had: float

    @property
    def name(self) -> str:
        return self.request[0]

    def most(self, table: CostTable, others: Sequence[_Undecided] = ()) -> float:
        """Return the most cost units of the holder of its servers, once it and the `others` are granted."""
        stack = self.stack.beside(self.request[2], [one.request for one in others])
        amounts = with_amounts(table.amounts, guest_amounts((*stack.guests, *stack.asking(*self.request))))
        return most_cost_units(stack.asked(*self.request), replace(table, amounts=amounts))


def _holder(request: Asking) -> str:
    """Return the name of the reservation that holds the servers of one: of a guest its host, else its own."""
    name, _, spec = request
    return spec.guest_of or name


def _added(question: _Undecided | None, requests: Sequence[_Undecided], table: CostTable) -> float:
    """Return the cost units that requests about one holder of servers add to it, or to the question about it."""
    by_name = defaultdict[str, list[_Undecided]](list)
    for one in requests:
        if question is None or one.name != question.name:
            by_name[one.name].append(one)
    # At most one request about each name is ever accepted, so only the largest of them counts.
    largest = [max(some, key=lambda one: one.most(table)) if len(some) > 1 else some[0] for some in by_name.values()]
    if question is not None:
        return max(0.0, question.most(table, largest) - question.most(table)) if largest else 0.0
    first, *others = largest
    return max(0.0, first.most(table, others) - first.had)
