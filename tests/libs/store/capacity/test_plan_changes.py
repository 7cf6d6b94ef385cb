"""A commit keeps what survives each kind of loss, in regions of the database, by a judge that loses every domain."""

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.fleet import FREE, TargetPlan
from libs.plan_check.committed import check_committed, short_rru, shorter
from libs.ras.committable_changes import settle
from libs.store.capacity.plan_changes import load_plan_changes
from libs.store.platform.database import Database
from tests.builders.survived import missing_rru, stored_with_kinds


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
