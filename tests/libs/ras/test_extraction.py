"""Test the extraction of servers from counts alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.assignment.model.lower import lower
from libs.ras.extraction import extract_targets
from libs.ras.server_classes import places_of
from libs.ras.statement import state_region
from tests.builders.random_region import random_region, region

MANY = settings(max_examples=20, deadline=None, derandomize=True)
SEEDS = st.integers(0, 10**6)


def places_in(snapshot):
    statement = state_region(snapshot)
    lowered = lower(statement.problem)
    return places_of(snapshot, statement, lowered), lowered


@MANY
@given(SEEDS)
def test_places_are_where_servers_are_alike(seed):
    snapshot = random_region(np.random.default_rng(seed), 150, 4, msbs=4, types=2)
    places, _ = places_in(snapshot)
    lasting = np.flatnonzero(snapshot.servers.lasting)
    assert (places.of[~snapshot.servers.lasting] == -1).all()
    assert (places.msb[places.of[lasting]] == snapshot.server_msb[lasting]).all()
    rru = snapshot.reservations.rru[:, snapshot.servers.hardware_type[lasting]]
    assert (places.rru[:, places.of[lasting]] == rru).all()
    held = lasting[snapshot.servers.target[lasting] >= 0]
    made = np.zeros_like(places.held)
    np.add.at(made, (snapshot.servers.target[held], places.of[held]), 1)
    assert np.array_equal(made, places.held)


@MANY
@given(SEEDS)
def test_extraction_binds_exactly_the_counts(seed):
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, 150, 4, msbs=4, types=2)
    places, lowered = places_in(snapshot)
    wanted, left = np.zeros_like(places.held), lowered.classes.size.copy()
    for r, k in rng.permutation(np.argwhere(places.rru > 0)):
        wanted[r, k] = rng.integers(0, left[k] + 1)
        left[k] -= wanted[r, k]
    target = extract_targets(snapshot, places, wanted)
    made = np.zeros_like(wanted)
    up = snapshot.servers.available & (target >= 0)
    np.add.at(made, (target[up], places.of[up]), 1)
    assert np.array_equal(made, wanted)


def test_extraction_fills_racks_evenly():
    snapshot = region(
        msb_datacenter=(0,),
        racks_per_msb=3,
        servers=[(k, 0) for k in (0, 0, 0, 1, 1, 2)],
        capacity=[3],
        survives=[False],
    )
    places, _ = places_in(snapshot)
    target = extract_targets(snapshot, places, np.array([[3]]))
    assert sorted(snapshot.servers.rack[target == 0].tolist()) == [0, 1, 2]
