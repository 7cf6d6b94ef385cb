"""The most cost units that a reservation may come to hold."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libs.domain.cost_units import CostTable, most_cost_units
from libs.domain.reservation import ReservationSpec

TABLE = CostTable(
    units={"big": 2.5}, msbs={"dc-00": 2, "dc-01": 2}, affinity_tolerance=0.05, domains={"block": 3, "row": 6}
)


def most(capacity_rru: float, **spec: Any) -> float:
    given: dict[str, Any] = {"rru": {"small": 1.0}, "survives_msb_loss": False} | spec
    return most_cost_units(ReservationSpec(capacity_rru=capacity_rru, **given), TABLE)


@pytest.mark.parametrize(
    ("capacity_rru", "spec", "units"),
    [
        (10, {}, 10),
        (10, {"rru": {"small": 0.035}}, 286),  # the unit of the asker says how many servers, and no more
        (10, {"rru": {"big": 1.0}}, 25),
        (10, {"rru": {"small": 1.0, "big": 4.0}}, 10),  # 10 small ones, or 3 big ones of 2.5
        (10, {"survives_msb_loss": True}, 14),  # the fullest of four MSBs has 4
        (10, {"survives_msb_loss": True, "datacenters": ("dc-00",)}, 20),  # over two MSBs
        (10, {"affinity": {"dc-00": 10.0, "dc-01": 10.0}}, 200),
        (10, {"affinity": {"dc-00": 0.5, "dc-01": 0.5}}, 10),
        (10, {"affinity": {"dc-00": 1.2}, "survives_msb_loss": True}, 16),  # 12 in two MSBs, 6 of them lost at once
        # One server in dc-00 at most, so that one MSB of dc-01 may have 9 of 18.
        (10, {"affinity": {"dc-00": 0.1}, "survives_msb_loss": True}, 19),
        (10, {"affinity": {"dc-00": 0.5, "dc-01": 0.5}, "datacenters": ("dc-01",)}, 10),
        (10, {"affinity_follows": "other"}, 10),
        (10, {"affinity_follows": "other", "survives_msb_loss": True}, 20),  # the other may lie in two MSBs alone
        (10, {"survives_loss_of": ("block",)}, 15),  # over three blocks
        (10, {"survives_loss_of": ("row",)}, 12),
        (10, {"survives_msb_loss": True, "survives_loss_of": ("block", "row")}, 15),  # one loss at a time
        (10, {"survives_msb_loss": True, "msb_share_max": 0.5}, 14),
        (10, {"survives_msb_loss": True, "msb_share_max": 0.3}, 12),  # never all that it needs
        (10, {"rru": {"small": 4.0}, "msb_share_max": 0.3}, 0),  # no server of 4 RRU fits below 3 RRU
        (10, {"rru": {"small": 1.0, "big": 4.0}, "msb_share_max": 0.3}, 10),
        (0.1 + 0.2, {"rru": {"small": 0.3}}, 1),  # rounding takes no server
    ],
)
def test_it_counts_servers_buffer_and_shares(capacity_rru: float, spec: dict, units: float) -> None:
    assert most(capacity_rru, **spec) == units


def fewest(needed: int, spec: ReservationSpec) -> float:
    """Return the fewest servers over two MSBs in each of two datacenters that keep to everything; inf: none do."""
    each = range(int(needed) + 1)
    loads = np.array(list(itertools.product(each, repeat=4)))
    total, capacity = loads.sum(1), spec.capacity_rru
    fits = total - (loads.max(1) if spec.survives_msb_loss else 0) >= needed
    for name, own in (("dc-00", loads[:, :2]), ("dc-01", loads[:, 2:])):
        if name in spec.affinity:
            fits &= np.abs(own.sum(1) - spec.affinity[name] * capacity) <= 0.05 * capacity + 1e-9
        if spec.datacenters and name not in spec.datacenters:
            fits &= own.sum(1) == 0
    fits &= loads.max(1) <= (1.0 if spec.msb_share_max is None else spec.msb_share_max) * capacity + 1e-9
    return float(total[fits].min()) if fits.any() else math.inf


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 6),
    st.booleans(),
    st.dictionaries(st.sampled_from(["dc-00", "dc-01"]), st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.8, 1.0, 1.5])),
    st.sampled_from([(), ("dc-00",), ("dc-01",)]),
    st.sampled_from([None, 0.2, 0.34, 0.5, 1.0]),
)
def test_it_is_the_fewest_servers_that_keep_to_shares_and_hard_limits(
    capacity: int, survives: bool, affinity: dict, datacenters: tuple, share: float | None
) -> None:
    spec = ReservationSpec(
        capacity_rru=capacity,
        rru={"small": 1.0},
        survives_msb_loss=survives,
        affinity=affinity,
        datacenters=datacenters,
        msb_share_max=share,
    )
    wanted = fewest(capacity, spec)
    assume(math.isfinite(wanted))
    assert most_cost_units(spec, TABLE) == wanted


@given(st.floats(1e-300, 1e12), st.floats(1e-300, 1e6), st.floats(0, 10))
def test_it_is_finite_and_never_below_what_the_capacity_takes(capacity: float, rru: float, share: float) -> None:
    units = most(capacity, rru={"small": rru}, affinity={"dc-00": share, "elsewhere": 1.0}, survives_msb_loss=True)
    assert math.isfinite(units)
    assert units >= min(1e12, capacity / rru) * (1 - 1e-9)


@given(st.floats(0.1, 1e6), st.floats(0.01, 100))
def test_no_choice_of_unit_makes_the_same_servers_cheaper(capacity: float, scale: float) -> None:
    """Ten times the RRU at ten times the worth are the same servers."""
    assert most(capacity * scale, rru={"big": 3 * scale}) == pytest.approx(most(capacity, rru={"big": 3.0}), abs=2.5)


AMOUNT = st.sampled_from([0.0, 1.0, 2.0, 5.0])


@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.integers(1, 8), AMOUNT, AMOUNT), max_size=2),
    st.tuples(st.sampled_from([1.0, 3.0]), st.sampled_from([1.0, 3.0])),
)
def test_no_plan_without_needless_servers_takes_more_for_its_resources(
    capacity: int, resources: list[tuple[int, float, float]], rru: tuple[float, float]
) -> None:
    table = CostTable(
        units={"big": 2.5},
        msbs={"dc-00": 4},
        affinity_tolerance=0.05,
        amounts={
            name: {f"r{k}": of[column] for k, (_, *of) in enumerate(resources)}
            for column, name in enumerate(("small", "big"))
        },
    )
    asked = {f"r{k}": float(amount) for k, (amount, *_) in enumerate(resources)}
    spec = ReservationSpec(
        capacity_rru=capacity,
        rru=dict(zip(("small", "big"), rru, strict=True)),
        resources=asked,
        survives_msb_loss=False,
    )

    def enough(small: int, big: int) -> bool:
        return all(small * of[0] + big * of[1] >= wanted for wanted, *of in [(capacity, *rru), *resources])

    held = [
        small + 2.5 * big
        for small, big in itertools.product(range(9), repeat=2)
        if enough(small, big) and not (small and enough(small - 1, big)) and not (big and enough(small, big - 1))
    ]
    assert most_cost_units(spec, table) >= max(held, default=0.0)
