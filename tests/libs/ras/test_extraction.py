"""Test the extraction of servers from counts alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.ras.extraction import extract_targets
from libs.ras.server_classes import places_of
from tests.builders.random_region import random_region, region

MANY = settings(max_examples=20, deadline=None, derandomize=True)
SEEDS = st.integers(0, 10**6)


@MANY
@given(SEEDS)
def test_places_are_where_servers_are_alike(seed):
    snapshot = random_region(np.random.default_rng(seed), 150, 4, msbs=4, types=2)
    servers, places = snapshot.servers, places_of(snapshot)
    lasting = np.flatnonzero(servers.lasting)
    assert (places.of[~servers.lasting] == -1).all()
    assert np.array_equal(np.bincount(places.of[lasting], minlength=len(places.size)), places.size)
    for k in range(len(places.size)):
        here = lasting[places.of[lasting] == k]
        assert len(set(snapshot.server_msb[here].tolist())) == 1
        assert len(np.unique(snapshot.reservations.rru[:, servers.hardware_type[here]], axis=1).T) == 1
    made = np.zeros((len(snapshot.reservations), len(places.size)), np.int64)
    held = lasting[servers.target[lasting] >= 0]
    np.add.at(made, (servers.target[held], places.of[held]), 1)
    assert np.array_equal(places.counts(servers.target, len(snapshot.reservations)), made)


@MANY
@given(SEEDS)
def test_extraction_binds_exactly_the_counts(seed):
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, 150, 4, msbs=4, types=2)
    places = places_of(snapshot)
    rru = np.zeros((len(snapshot.reservations), len(places.size)))
    lasting = np.flatnonzero(snapshot.servers.lasting)
    rru[:, places.of[lasting]] = snapshot.reservations.rru[:, snapshot.servers.hardware_type[lasting]]
    wanted, left = np.zeros(rru.shape, np.int64), places.size.copy()
    for r, k in rng.permutation(np.argwhere(rru > 0)):
        wanted[r, k] = rng.integers(0, left[k] + 1)
        left[k] -= wanted[r, k]
    target = extract_targets(snapshot, places, wanted)
    up = np.where(snapshot.servers.available, target, -1)
    assert np.array_equal(places.counts(up, len(snapshot.reservations)), wanted)


def test_extraction_fills_racks_evenly():
    snapshot = region(
        msb_datacenter=(0,),
        racks_per_msb=3,
        servers=[(k, 0) for k in (0, 0, 0, 1, 1, 2)],
        capacity=[3],
        survives=[False],
    )
    places = places_of(snapshot)
    target = extract_targets(snapshot, places, np.array([[3]]))
    assert sorted(snapshot.servers.rack[target == 0].tolist()) == [0, 1, 2]
