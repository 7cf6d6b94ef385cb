"""Build small regions for tests, by hand or at random for hypothesis, and larger realistic ones."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from libs.domain.domain_kind import DomainKind
from libs.domain.domain_limits import LIMITS, limits_table
from libs.domain.fleet import FREE, FleetSnapshot, Servers, Topology
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import PRIORITY_MIDDLE
from libs.domain.reservation_rows import Reservations
from libs.domain.resources import Resources


def region(
    *,
    msb_datacenter=(0, 0, 1),
    racks_per_msb=1,
    types=1,
    servers=(),
    capacity=(),
    rru=None,
    survives=None,
    msb_limit=None,
    rack_limit=None,
    affinity=None,
    priority=None,
    move_cost=None,
    msb_share_max=None,
    allowed=None,
    limits=None,
    policy=None,
    cost_units=None,
    domains=(),
    survives_loss_of=None,
    amounts=(),
    resources=None,
    gbit_per_rru=None,
    uplinks=None,
):
    """Build a region. servers: (rack, type, target, in_use, available) each; capacity: of each reservation.

    domains: of each further kind, the domain of each server, or UNPLACED; survives_loss_of: (R, J)
    limits: of each reservation, its DomainLimits
    amounts: (Q, T) of resources in one server of each type; resources: (R, Q) that reservations ask for
    """
    R, M = len(capacity), len(msb_datacenter)
    K, D = M * racks_per_msb, max(msb_datacenter) + 1
    rows = [tuple(s) + (0, FREE, False, True)[len(s) - 1 :] for s in servers]
    rack, kind, target, in_use, available = (
        (np.array([row[i] for row in rows]) for i in range(5)) if rows else [np.zeros(0, int)] * 5
    )
    S = len(rows)
    kinds = tuple(
        DomainKind(name=f"kind_{j}", domains=np.array([f"{j}-{n}" for n in range(max(of, default=-1) + 1)], object))
        for j, of in enumerate(domains)
    )
    return FleetSnapshot(
        region="test",
        topology=Topology(
            datacenters=np.array([f"dc-{d}" for d in range(D)], object),
            msbs=np.array([f"msb-{m}" for m in range(M)], object),
            racks=np.array([f"rack-{k}" for k in range(K)], object),
            msb_datacenter=np.array(msb_datacenter, np.int32),
            rack_msb=np.repeat(np.arange(M), racks_per_msb).astype(np.int32),
            kinds=kinds,
        ),
        hardware_types=np.array([f"hw-{t}" for t in range(types)], object),
        servers=Servers(
            id=np.arange(S),
            name=np.array([f"s{s}" for s in range(S)], object),
            rack=rack.astype(np.int32),
            hardware_type=kind.astype(np.int32),
            current=target.astype(np.int32),
            target=target.astype(np.int32),
            in_use=in_use.astype(bool),
            available=available.astype(bool),
            leaving=np.zeros(S, bool),
            drained=np.zeros(S, bool),
            awaited=np.zeros(S, bool),
            booked=np.zeros(S, bool),
            domain=np.array(domains, np.int32).reshape(len(domains), S).T,
            generation=np.ones(S, np.int64),
        ),
        reservations=Reservations(
            id=np.arange(R),
            name=np.array([f"r{r}" for r in range(R)], object),
            capacity_rru=np.array(capacity, float),
            survives_msb_loss=np.array(survives if survives is not None else [True] * R, bool),
            survives_loss_of=np.array(
                survives_loss_of if survives_loss_of is not None else np.zeros((R, len(domains))), bool
            ).reshape(R, len(domains)),
            msb_spread_limit=np.array(msb_limit if msb_limit is not None else [np.inf] * R, float),
            rack_spread_limit=np.array(rack_limit if rack_limit is not None else [np.inf] * R, float),
            rru=np.array(rru if rru is not None else np.ones((R, types)), float).reshape(R, types),
            resources=np.array(resources if resources is not None else np.zeros((R, len(amounts))), float).reshape(
                R, len(amounts)
            ),
            affinity_share=np.array(affinity if affinity is not None else np.full((R, D), np.nan), float).reshape(R, D),
            priority=np.array(priority if priority is not None else [PRIORITY_MIDDLE] * R, np.int64),
            move_cost=np.array(move_cost if move_cost is not None else [1.0] * R, float),
            gbit_per_rru=np.array(gbit_per_rru if gbit_per_rru is not None else [0.0] * R, float),
            msb_share_max=np.array(msb_share_max if msb_share_max is not None else [np.inf] * R, float),
            domain_limits=np.array([limits_table(own, kinds) for own in limits or [()] * R], float).reshape(
                R, 2 + len(kinds), len(LIMITS)
            ),
            allowed=np.array(allowed if allowed is not None else np.ones((R, D)), bool).reshape(R, D),
            generation=np.ones(R, np.int64),
        ),
        policy=policy or RegionPolicy(),
        cost_units=None if cost_units is None else np.array(cost_units, float),
        resources=Resources(
            names=np.array([f"resource-{k}" for k in range(len(amounts))], object),
            amount=np.array(amounts, float).reshape(len(amounts), types),
        ),
        uplinks=None if uplinks is None else np.array(uplinks, float),
    )


@st.composite
def regions(draw, servers_max=6, reservations_max=2):
    """Draw tiny regions with every feature: deleted bindings, ineligible holdings, outages, affinity, no limits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_region(rng, int(rng.integers(0, servers_max + 1)), int(rng.integers(1, reservations_max + 1)))


def random_region(rng, servers, reservations, *, msbs=3, types=2, fill=0.8):
    snapshot = region(
        msb_datacenter=tuple(m * 2 // msbs for m in range(msbs)),
        racks_per_msb=2,
        types=types,
        servers=[
            (
                rng.integers(2 * msbs),
                rng.integers(types),
                rng.integers(-2, reservations),
                rng.random() < 0.5,
                rng.random() < 0.85,
            )
            for _ in range(servers)
        ],
        capacity=np.round(rng.uniform(0, 2 * fill * servers / max(reservations, 1), reservations), 2),
        rru=np.where(
            rng.random((reservations, types)) < 0.25, 0.0, np.round(rng.uniform(0.5, 2.5, (reservations, types)), 2)
        ),
        survives=rng.random(reservations) < 0.7,
        msb_limit=np.where(rng.random(reservations) < 0.3, np.inf, np.round(rng.uniform(0.05, 1.0, reservations), 2)),
        rack_limit=np.where(rng.random(reservations) < 0.3, np.inf, np.round(rng.uniform(0.05, 1.0, reservations), 2)),
        affinity=np.where(
            rng.random((reservations, 2)) < 0.7, np.nan, np.round(rng.uniform(0, 1.5, (reservations, 2)), 2)
        ),
    )
    current = np.where(rng.random(servers) < 0.8, snapshot.servers.target, FREE).astype(np.int32)
    return replace(snapshot, servers=replace(snapshot.servers, current=current))


def retargeted(snapshot, target):
    """Return the snapshot after a plan was committed and executed."""
    binding = np.asarray(target, np.int32)
    return replace(snapshot, servers=replace(snapshot.servers, current=binding, target=binding))
