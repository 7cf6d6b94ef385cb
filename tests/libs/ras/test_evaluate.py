"""Evaluate one small case by hand for each expression."""

import numpy as np
import pytest

from libs.domain.fleet import DELETED, FREE
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.phases.kept_terms import worse_off
from tests.builders.random_region import region


def score(snapshot, *binding):
    return evaluate(snapshot, np.array(binding, np.int32))


def test_expression_1_charges_who_leaves_and_nobody_else():
    snapshot = region(
        servers=[(0, 0, 0, True), (0, 0, 0, False), (0, 0, 0, True), (0, 0, DELETED, True), (0, 0, FREE, False)],
        capacity=[0, 0],
    )
    found = score(snapshot, 1, FREE, 0, 1, 1)
    assert (found.stability, found.moved_in_use, found.moved_idle, found.acquired) == (11.0, 1, 1, 3)


def test_expressions_2_and_3_charge_what_is_above_the_limit_per_rack_and_msb():
    snapshot = region(
        racks_per_msb=2,
        servers=[(0, 0), (0, 0), (1, 0), (2, 0)],
        capacity=[4],
        rru=[[1.5]],
        rack_limit=[0.5],
        msb_limit=[1.0],
    )
    found = score(snapshot, 0, 0, 0, 0)
    assert found.rack_spread == pytest.approx(2 * (3.0 - 2.0))
    assert found.msb_spread == pytest.approx(2 * (4.5 - 4.0))


def test_expressions_4_and_6_the_worst_msb_is_the_buffer_and_does_not_count():
    snapshot = region(servers=[(0, 0), (0, 0), (1, 0), (2, 0)], capacity=[3])
    found = score(snapshot, 0, 0, 0, 0)
    assert found.buffer == 5.0 * 2
    assert found.short == 1000.0 * 1
    covered = coverage_of(snapshot, np.zeros(4, np.int32))
    assert (covered.total[0], covered.worst_msb[0], covered.surviving[0], covered.shortfall[0]) == (4, 2, 2, 1)


def test_a_reservation_that_need_not_survive_has_no_buffer():
    snapshot = region(servers=[(0, 0), (0, 0)], capacity=[2], survives=[False])
    assert score(snapshot, 0, 0).total == 0.0


def test_expression_7_charges_outside_the_band_on_both_sides():
    snapshot = region(servers=[(0, 0), (2, 0), (2, 0)], capacity=[2], survives=[False], affinity=[[1.0, 0.5]])
    # datacenter 0 has 1 of 2 +- 0.1: 0.9 below; datacenter 1 has 2 of 1 +- 0.1: 0.9 above
    assert score(snapshot, 0, 0, 0).affinity == pytest.approx(500 * 1.8)


def test_servers_that_are_down_count_for_nothing():
    snapshot = region(servers=[(0, 0, 0, True, False), (1, 0, 0)], capacity=[1], survives=[False])
    assert score(snapshot, 0, FREE).shortfall_rru == 1.0
    assert score(snapshot, 0, 0).shortfall_rru == 0.0


def test_expression_5_holds_by_shape_and_limits_without_capacity_are_zero():
    snapshot = region(servers=[(0, 0)], capacity=[0], survives=[False], msb_limit=[np.inf], rack_limit=[0.5])
    found = score(snapshot, 0)
    assert (found.msb_spread, found.rack_spread) == (0.0, 2.0)


def test_a_region_without_reservations_costs_nothing():
    snapshot = region(servers=[(0, 0), (1, 0)], capacity=[])
    covered = coverage_of(snapshot, np.array([FREE, FREE], np.int32))
    assert (covered.shortfall.shape, covered.held.shape, covered.lacks.shape) == ((0,), (0, 0), (1, 0, 0))
    assert score(snapshot, FREE, FREE).total == 0
    assert not worse_off(snapshot, *np.full((2, 2), FREE, np.int32)).size


def test_a_residue_of_rounding_is_no_shortfall():
    snapshot = region(servers=[(0, 0), (0, 0), (0, 0)], capacity=[2.1], rru=[[0.7]], survives=[False])
    assert coverage_of(snapshot, np.zeros(3, np.int32)).shortfall[0] > 0, "3 times 0.7 is below 2.1"
    found = score(snapshot, 0, 0, 0)
    assert (found.shortfall_rru, found.reservations_short) == (0, 0)
