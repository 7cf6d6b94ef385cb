"""Resources beside RRU: status, solves and commits count the same, in regions of the database."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.fleet import FREE, TargetPlan
from libs.domain.reservation import ReservationSpec
from libs.plan_check.committed import check_committed, short_rru, standing
from libs.plan_check.regression import penalties, shortfall_rru
from libs.ras.committable_changes import settle
from libs.ras.evaluate import coverage_of, scarce_resource
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.plan_changes import load_plan_changes
from libs.store.fleet.resources import load_asked
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from tests.builders.equal import assert_same_snapshot
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.builders.survived import stored_with_resources


@pytest.mark.parametrize("seed", range(6))
def test_the_status_and_solves_agree_on_each_resource(database: Database, seed: int) -> None:
    snapshot = stored_with_resources(database, np.random.default_rng(seed))
    q = snapshot.reservations
    covered = coverage_of(snapshot, np.maximum(snapshot.servers.target, FREE))
    with database.snapshot() as tx:
        found = load_coverage(tx, q.id.tolist(), "target")
        asked = load_asked(tx, q.id)
    for r, one in enumerate(found[int(i)] for i in q.id):
        assert one.total_rru == pytest.approx(covered.total[r])
        assert one.shortfall_rru == pytest.approx(covered.shortfall[r])
        assert {held.resource: held.asked for held in one.resources} == asked[int(q.id[r])]
        of_name = {measure.resource: n for n, measure in enumerate(snapshot.measures[1:])}
        for held in one.resources:
            n = of_name[held.resource]
            assert (held.total, held.left) == pytest.approx((covered.held[n, r], covered.held_after[n, r]))
        scarce = one.scarce(float(q.capacity_rru[r]))
        assert (None if scarce is None else scarce.resource) == scarce_resource(snapshot, covered, r)


@pytest.mark.parametrize("seed", range(12))
def test_a_commit_reads_what_a_solve_counts_and_leaves_no_promise_shorter(database: Database, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = stored_with_resources(database, rng)
    s, R = before.servers, len(before.reservations)
    drawn = rng.integers(FREE, R, len(s)).astype(np.int32)
    target = np.where((rng.random(len(s)) < 0.5) & s.available, drawn, s.target).astype(np.int32)
    plan = TargetPlan(target=target, parent_plan_id=before.target_plan_id)
    with database.write() as tx:
        changes = load_plan_changes(tx, before, plan)
    q, none = changes.touched, np.zeros(len(changes), bool)
    assert q.axis.measures == 3
    assert short_rru(q, q.load) == pytest.approx(shortfall_rru(before, s.target)[q.row])
    stands = standing(changes, none, before.policy)
    assert stands.penalty * q.penalty_weight == pytest.approx(penalties(before, s.target)[q.row])
    settled = settle(changes, before.policy, np.zeros(len(q)))
    assert check_committed(changes, settled.kept, before.policy, np.zeros(len(q))) == []
    kept = s.target.copy()
    kept[changes.row[settled.kept]] = target[changes.row[settled.kept]]
    lacked, lacks = (shortfall_rru(before, one) for one in (s.target, kept))
    assert (lacks <= lacked + 1e-6).all()
    assert standing(changes, settled.kept, before.policy).short == pytest.approx(lacks[q.row])


def test_a_region_keeps_its_resources_through_an_import_and_an_export(database: Database) -> None:
    specs = {
        "web": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0, "hw-b": 1.0}, resources={"cores": 64, "vcpu": 3.5}),
        "batch": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}),
    }
    image = region_image(
        racks_per_msb=2,
        hardware_types=("hw-a", "hw-b"),
        reservations=specs,
        attributes={"hw-a": {"cores": 32.0, "vcpu": 64.0}, "hw-b": {"cores": 96.0}},
    )
    after = stored(database, image)
    assert_same_snapshot(after, replace(image.snapshot, cost_units=after.cost_units))
    assert after.resources.amount.tolist() == [[32.0, 96.0], [64.0, 0.0]]
    with database.snapshot() as tx:
        exported = load_region_image(tx, "west")
    assert exported.hardware_type_attributes == image.hardware_type_attributes
