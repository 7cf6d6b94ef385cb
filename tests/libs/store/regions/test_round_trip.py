"""A region comes back from its files, and from a platform, with everything that a solve or an operator would miss."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.domain.cost_units import listed_units
from libs.domain.domain_kind import UNPLACED
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.domain.rru_catalogue import ClassVersion, RegionCatalogue
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region, image_of
from libs.store.capacity.followed_shares import follow_holdings
from libs.store.fleet import regions
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from tests.builders.equal import assert_same_image, assert_same_snapshot
from tests.builders.random_region import random_region, region
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.libs.store.conftest import NOW

TYPES = 4


def random_catalogue(rng: np.random.Generator) -> RegionCatalogue:
    """Return cost units of some types, and up to four classes with up to three versions, some of them retired."""
    versions = []
    for k in range(int(rng.integers(0, 5))):
        last = int(rng.integers(1, 4))
        for number in range(1, last + 1):
            rru = {f"hw-{t}": float(rng.uniform(0.1, 3)) for t in range(1, TYPES) if rng.random() < 0.6} | {"hw-0": 1.0}
            versions.append(
                ClassVersion(
                    workload_class=f"class {k}",
                    version=number,
                    reference="hw-0",
                    rru={} if number == last and rng.random() < 0.3 else rru,
                    asked_by=("ann", 'q"uote'),
                    approved_by="olga",
                    reason=None if rng.random() < 0.5 else "measured, ünder load",
                    created_at=NOW + timedelta(microseconds=int(rng.integers(0, 10**9))),
                )
            )
    rng.shuffle(versions)
    versions.sort(key=lambda one: one.version)  # classes in any order, versions of one class in theirs
    units = {f"hw-{t}": float(rng.uniform(0.1, 9)) for t in range(TYPES) if rng.random() < 0.5}
    return RegionCatalogue(cost_units=units, versions=tuple(versions))


def random_limits(rng: np.random.Generator, reservations: int) -> np.ndarray:
    """Return limits (R, 3, 3) for datacenters, MSBs and one further kind."""
    shape = (reservations, 3)
    wholes = [rng.integers(1, most, shape) for most in (4, 9, 4)]
    drawn = np.stack([*wholes[:2], rng.uniform(0.01, 1, shape), wholes[2]], axis=2)
    return np.where(rng.random(drawn.shape) < 0.7, np.inf, drawn)


def random_image(seed: int) -> RegionImage:
    """Return a region with hard limits, classes of priority and workload, costs of moves, domains and a catalogue."""
    rng = np.random.default_rng(seed)
    found = random_region(rng, int(rng.integers(TYPES, 40)), 5, types=TYPES, msbs=4)
    q, s = found.reservations, found.servers
    # a file has only the types that servers have or reservations name
    rru = q.rru.copy()
    rru[0] = rng.uniform(0.5, 2, TYPES)
    allowed = rng.random(q.allowed.shape) < 0.7
    allowed[~allowed.any(axis=1)] = True
    catalogue = random_catalogue(rng)
    classes = [None, *catalogue.present().classes]
    block = rng.integers(UNPLACED, 3, (1, len(s)))
    kinds = region(servers=[(0, 0)] * len(s), domains=block).topology.kinds
    snapshot = replace(
        found,
        region="west",
        topology=replace(found.topology, kinds=kinds),
        servers=replace(s, in_use=s.in_use & (s.current >= 0), domain=block.T.astype(np.int32)),
        reservations=replace(
            q,
            rru=rru,
            survives_loss_of=np.zeros((len(q), 1), bool),
            priority=rng.integers(0, 5, len(q)),
            move_cost=rng.uniform(0.1, 10, len(q)),
            gbit_per_rru=np.where(rng.random(len(q)) < 0.5, 0.0, rng.uniform(0, 40, len(q))),
            msb_share_max=np.where(rng.random(len(q)) < 0.5, np.inf, rng.uniform(0.2, 1, len(q))),
            allowed=allowed,
            domain_limits=random_limits(rng, len(q)),
        ),
        cost_units=listed_units(found.hardware_types, catalogue.units()),
        promised_rru=None if seed % 3 else np.append(0.0, q.capacity_rru[1:] * rng.choice([0.0, 0.3, 1.0], len(q) - 1)),
        uplinks=np.where(rng.random(len(found.topology.racks)) < 0.4, np.inf, rng.uniform(1, 90, 8)),
    )
    return replace(
        image_of(snapshot),
        reservation_class=np.array([classes[k] for k in rng.integers(0, len(classes), len(q))], object),
        catalogue=catalogue,
    )


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_a_region_comes_back_from_its_files(seed: int) -> None:
    files = dump_region(random_image(seed))
    image = load_region(files, name="west")
    assert dump_region(image) == files
    assert_same_image(load_region(dump_region(image), name="west"), image)
    if seed % 2:
        return
    bundled = load_region(dump_region(image_of(image.snapshot)), name="west")
    assert_same_snapshot(bundled.snapshot, image.snapshot)


@pytest.mark.parametrize("seed", range(6))
def test_a_region_comes_back_from_a_platform(database: Database, seed: int) -> None:
    image = load_region(dump_region(random_image(seed)), name="west")
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    with database.snapshot() as tx:
        found = load_region_image(tx, "west")
    assert dump_region(found) == dump_region(image)
    assert load_region(dump_region(found), name="west").catalogue == image.catalogue


@pytest.mark.parametrize("change", ["deleted_at = now()", "kind = 'shared_buffer'"])
def test_the_files_have_the_last_shares_of_one_that_follows_what_files_cannot_name(
    database: Database, change: str
) -> None:
    """The followed one is gone, or is a shared buffer. Files could name a buffer before."""
    specs = {
        "storage": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False),
        "web": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity_follows="storage"),
    }
    stored(database, region_image(datacenters=2, msbs=4, reservations=specs, current={"server-00": "storage"}))
    with database.write() as tx:
        follow_holdings(tx, regions.load_region(tx, "west").region_id)
        tx.execute(sa.text(f"UPDATE reservations SET {change} WHERE name = 'storage'"))
    with database.snapshot() as tx:
        image = load_region(dump_region(load_region_image(tx, "west")), name="west")
    web = image.snapshot.reservations.name.tolist().index("web")
    assert image.reservation_follows[web] is None
    assert image.snapshot.reservations.affinity_share[web].tolist() == [1.0, 0.0]
