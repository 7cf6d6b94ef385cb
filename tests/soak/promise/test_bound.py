"""The bound on the servers that promises need, on cases whose answer is known."""

import numpy as np
import pytest

from soak.promise.bound import fewest_servers
from soak.promise.watch import Promises


def promises(capacity_rru: float, *, survives: bool) -> Promises:
    return Promises(
        name=np.array(["web"], object),
        capacity_rru=np.array([capacity_rru]),
        rru=np.array([[1.0, 2.0]]),
        survives=np.array([survives]),
    )


def test_the_better_servers_come_first() -> None:
    supply = np.array([[10, 2], [10, 0]])
    assert fewest_servers(promises(6.0, survives=False), supply) == pytest.approx(4.0)


def test_an_even_spread_needs_the_smallest_buffer() -> None:
    supply = np.array([[10, 0], [10, 0], [10, 0]])
    assert fewest_servers(promises(6.0, survives=True), supply) == pytest.approx(9.0)
