"""Servers to spare could really go."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from libs.ras.returnable_servers import returnable


def survives_without(servers, gone, rru, capacity, *, survives) -> bool:
    left = [one for i, one in enumerate(servers) if i not in gone]
    by_msb = [sum(rru[t] for m, t in left if m == msb) for msb in range(3)]
    return sum(by_msb) - (max(by_msb) if survives else 0.0) >= capacity * (1 - 1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=7),
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([1.0, 2.0])),
    st.floats(0.1, 6.0),
    st.booleans(),
)
def test_no_more_than_could_go(servers, rru, capacity, survives) -> None:
    held = np.zeros((3, 2), int)
    for m, t in servers:
        held[m, t] += 1
    found = returnable(held, np.array(rru), capacity, survives=survives)
    ways = combinations(range(len(servers)), found)
    assert found == 0 or any(survives_without(servers, set(way), rru, capacity, survives=survives) for way in ways)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(1, 8), st.booleans())
def test_all_that_could_go_of_equal_servers(msbs, capacity, survives) -> None:
    servers = [(m, 0) for m in msbs]
    held = np.array([[msbs.count(m)] for m in range(3)])
    found = returnable(held, np.ones(1), capacity, survives=survives)
    most = max(
        (
            n
            for n in range(len(servers) + 1)
            for way in combinations(range(len(servers)), n)
            if survives_without(servers, set(way), (1.0,), capacity, survives=survives)
        ),
        default=0,
    )
    assert found == most
