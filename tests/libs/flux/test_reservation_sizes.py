"""Capacity becomes RRU and comes back as the same capacity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.domain.service_reservation import ServiceReservation
from libs.flux.reservation_sizes import ReservationTable, UnmappedError

SERVICES, REGIONS, TYPES, RESERVATIONS = ("web", "api", "db"), ("east", "west"), ("compute", "ssd"), ("front", "back")


def row(service="web", hardware_type="compute", region=None, reservation="front", rru_per_unit=2.0, headroom=0.25):
    return ServiceReservation(
        service=service,
        hardware_type=hardware_type,
        region=region,
        reservation=reservation,
        rru_per_unit=rru_per_unit,
        headroom=headroom,
    )


positive = st.floats(1e-3, 1e3)
rows = st.lists(
    st.builds(
        row,
        service=st.sampled_from(SERVICES),
        hardware_type=st.sampled_from(TYPES),
        region=st.sampled_from((None, *REGIONS)),
        reservation=st.sampled_from(RESERVATIONS),
        rru_per_unit=positive,
        headroom=st.floats(0, 10),
    ),
    unique_by=lambda one: (one.service, one.hardware_type, one.region),
    min_size=1,
)


def test_the_least_weight_shares_as_any_other():
    table, place = ReservationTable([row(rru_per_unit=1.0, headroom=0.0)]), ("web", "east", "compute")
    assert table.capacity_of({("east", "front"): 1.5}, {place: 5e-324}) == {place: 1.5}


@given(rows, st.data())
def test_a_round_trip_gives_the_same_capacity(given_rows, data):
    table = ReservationTable(given_rows)
    mapped = [(s, r, h) for s in SERVICES for r in REGIONS for h in TYPES if table.find((s, r, h)) is not None]
    capacity = {place: data.draw(positive) for place in mapped}
    rru = table.rru_of(capacity)
    assert table.capacity_of(rru, capacity) == pytest.approx(capacity)


@given(rows, st.data())
def test_a_round_trip_gives_the_same_size_for_all_weights(given_rows, data):
    table = ReservationTable(given_rows)
    rru = {(r, name): data.draw(positive) for r in REGIONS for name in RESERVATIONS if table.places(r, name)}
    weights = {(s, r, h): data.draw(st.floats(0, 10)) for s in SERVICES for r in REGIONS for h in TYPES}
    assert table.rru_of(table.capacity_of(rru, weights)) == pytest.approx(rru)


def test_rows_of_one_reservation_add_up():
    table = ReservationTable([row(), row("api", rru_per_unit=4.0, headroom=0.0)])
    capacity = {("web", "east", "compute"): 10.0, ("api", "east", "compute"): 5.0, ("web", "west", "compute"): 1.0}
    assert table.rru_of(capacity) == {("east", "front"): 45.0, ("west", "front"): 2.5}


def test_a_row_of_a_region_wins():
    table = ReservationTable([row(), row(region="east", reservation="back", rru_per_unit=1.0, headroom=0.0)])
    capacity = {("web", "east", "compute"): 10.0, ("web", "west", "compute"): 10.0}
    assert table.rru_of(capacity) == {("east", "back"): 10.0, ("west", "front"): 25.0}
    assert table.places("east", "front") == []
    assert table.capacity_of({("east", "front"): 7.0}, {}) == {}


def test_a_reservation_without_use_is_shared_equally():
    table = ReservationTable([row(headroom=0.0), row("api", rru_per_unit=4.0, headroom=0.0)])
    found = table.capacity_of({("east", "front"): 16.0}, {})
    assert found == {("web", "east", "compute"): 4.0, ("api", "east", "compute"): 2.0}


def test_a_place_without_a_row_is_named():
    with pytest.raises(UnmappedError, match="no row for db on ssd in east"):
        ReservationTable([row()]).rru_of({("db", "east", "ssd"): 1.0})
