"""A commit keeps what survives each kind of loss, in regions of the database, by a judge that loses every domain."""

import numpy as np
import pytest
import sqlalchemy as sa

from libs.assignment import Limits
from libs.domain.domain_limits import DATACENTER, MSB, DomainLimit
from libs.domain.fleet import FREE, TargetPlan
from libs.domain.limited_kinds import limited_kinds
from libs.plan_check.check import check_plan
from libs.plan_check.committed import check_committed, short_rru, shorter
from libs.plan_check.hard_limits import excess_by_kind, servers_by_domain
from libs.ras.committable_changes import settle
from libs.ras.solve import plan_target_bindings
from libs.store.capacity.plan_changes import load_plan_changes
from libs.store.fleet.domain_limits import add_domain_limits
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from tests.builders.stored import read
from tests.builders.survived import KINDS, missing_rru, stored_with_kinds


@pytest.mark.parametrize("seed", range(12))
def test_what_is_committed_leaves_no_promise_shorter_after_any_loss(database: Database, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = stored_with_kinds(database, rng)
    s, R = before.servers, len(before.reservations)
    drawn = rng.integers(FREE, R, len(s)).astype(np.int32)
    target = np.where((rng.random(len(s)) < 0.5) & s.available, drawn, s.target).astype(np.int32)
    plan = TargetPlan(target=target, parent_plan_id=before.target_plan_id)
    with database.write() as tx:  # one server changes during the solve
        name = str(rng.choice(s.name[plan.changes(before)]))
        tx.execute(sa.text("UPDATE servers SET unclean = true WHERE name = :name"), {"name": name})
    with database.write() as tx:
        changes = load_plan_changes(tx, before, plan)
    q = changes.touched
    assert q.axis.survives.shape[1] == 1 + before.reservations.survives_loss_of.any(0).sum()
    assert short_rru(q, q.load) == pytest.approx(np.array(missing_rru(before, s.target))[q.row])
    settled = settle(changes, before.policy, np.zeros(len(q)))
    assert check_committed(changes, settled.kept, before.policy, np.zeros(len(q))) == []
    kept = s.target.copy()
    kept[changes.row[settled.kept]] = target[changes.row[settled.kept]]
    lacked, lacks = (np.array(missing_rru(before, one)) for one in (s.target, kept))
    assert not shorter(before.reservations.capacity_rru, lacked, lacks).any()
    for n in np.flatnonzero(~settled.kept & ~changes.changed):
        one = kept.copy()
        one[changes.row[n]] = target[changes.row[n]]
        more = settled.kept.copy()
        more[n] = True
        worse = shorter(before.reservations.capacity_rru, lacked, np.array(missing_rru(before, one))).any()
        assert not worse or check_committed(changes, more, before.policy, np.zeros(len(q))), "the check sees it too"


@pytest.mark.parametrize("seed", range(12))
def test_no_commit_breaks_a_limit_of_domains_further(database: Database, seed: int) -> None:
    """The counts that a commit reads, after some servers changed, are those of the region."""
    rng = np.random.default_rng(seed)
    before = stored_with_kinds(database, rng)
    names = (DATACENTER, MSB, *KINDS)
    with database.write() as tx:
        region_id = load_region(tx, before.region).region_id
        for row in before.reservations.id.tolist():
            limits = [
                DomainLimit(kind=kind, domains_max=int(rng.integers(1, 3)), servers_max=int(rng.integers(1, 5)))
                if rng.random() < 0.5
                else DomainLimit(kind=kind, share_max=0.5)
                for kind in names
                if rng.random() < 0.5
            ]
            add_domain_limits(tx, region_id, row, limits)
    before = read(database)
    s = before.servers
    assert np.isfinite(before.reservations.domain_limits).any()
    found = plan_target_bindings(before, Limits(exact_columns_max=10_000)).plan
    assert check_plan(before, found) == []
    rows = found.changes(before)
    if not len(rows):
        return
    changed = rng.choice(rows, min(2, len(rows)), replace=False)
    with database.write() as tx:
        tx.execute(
            sa.text("UPDATE servers SET unclean = true WHERE name = ANY(:names)"), {"names": s.name[changed].tolist()}
        )
    with database.write() as tx:
        changes = load_plan_changes(tx, before, found)
    settled = settle(changes, before.policy, np.zeros(len(changes.touched)))
    assert check_committed(changes, settled.kept, before.policy, np.zeros(len(changes.touched))) == []
    kept = s.target.copy()
    kept[changes.row[settled.kept]] = found.target[changes.row[settled.kept]]
    for kind in limited_kinds(before):
        had, has = (excess_by_kind(before, kind, one) for one in (s.target, kept))
        assert (has <= had + 1e-6).all(), kind.kind
    for one in changes.limited:
        kind = next(kind for kind in limited_kinds(before) if kind.kind == one.kind)
        held = servers_by_domain(before, kind, s.target)[changes.touched.row]
        limits = before.reservations.domain_limits[changes.touched.row, kind.column]
        is_limited = np.isfinite(limits).any(1)
        for wanted, read_count in zip(held[is_limited], one.servers[is_limited], strict=True):
            assert sorted(wanted[wanted > 0]) == sorted(read_count[read_count > 0])
