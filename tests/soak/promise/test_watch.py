"""The watcher sees each kind of dip at its moment, and excuses what no platform can prevent."""

import numpy as np
import pytest

from soak.promise.servers import Luck, RealServers
from soak.promise.watch import REPLACED_S_MAX, Promises, Watcher

WEB = "web"


class Region:
    """Six servers in three MSBs, all in `web`: one worth 2 RRU in each MSB, and one worth 1."""

    def __init__(self, capacity_rru: float = 6.0, *, survives: bool = True) -> None:
        self.at_s = 0.0
        self.servers = RealServers(
            np.array([f"server-{row}" for row in range(6)], object),
            np.array([0, 0, 1, 1, 2, 2]),
            np.array([0, 1] * 3),
            luck=Luck(seed=1),
            now_s=lambda: self.at_s,
            watch=lambda at_s: self.watcher.look(at_s),
        )
        self.servers.number[WEB] = 1
        self.servers.reservation[:] = 1
        self.watcher = Watcher(self.servers, 3, self.promises(capacity_rru, survives))
        self.look(0.0)

    def promises(self, capacity_rru: float, survives: bool = True, rru: tuple[float, float] = (2.0, 1.0)) -> Promises:
        return Promises(
            name=np.array([WEB], object),
            capacity_rru=np.array([capacity_rru]),
            rru=np.array([rru]),
            survives=np.array([survives]),
        )

    def look(self, at_s: float) -> None:
        self.at_s = at_s
        self.watcher.look(at_s)

    def leaves(self, *rows: int) -> None:
        self.servers.reservation[list(rows)] = 0

    def ratio(self, measure: str) -> float:
        return self.watcher.least[measure].ratio


def test_a_whole_reservation_is_at_one_by_every_measure_that_is_about_it() -> None:
    region = Region()
    assert [region.ratio(name) for name in ("moved", "spread", "there")] == pytest.approx([1.5, 1.0, 1.5])
    assert region.ratio("others") == np.inf
    assert region.watcher.longest_wait_s == 0.0


def test_a_move_below_the_promise_is_seen_with_its_length() -> None:
    region = Region()
    region.leaves(0, 2)
    region.look(10.0)
    region.servers.reservation[:] = 1
    region.look(30.0)
    assert region.ratio("moved") == pytest.approx(5 / 6)
    assert region.ratio("spread") == pytest.approx((5 - 3) / 6)
    assert region.watcher.least["moved"].below_s == 20.0
    assert region.watcher.least["moved"].below == {WEB}


def test_a_server_that_was_asked_to_leave_before_the_promise_grew_is_not_part_of_it() -> None:
    region = Region(2.0)
    region.servers.leaving[[0, 2]] = True
    region.watcher.promise(region.promises(9.0), 5.0)
    region.leaves(0)
    region.look(10.0)
    assert (region.ratio("moved"), region.ratio("spread")) == (pytest.approx(1.4), pytest.approx(2.0))
    region.leaves(0, 2, 4)
    region.look(20.0)
    assert region.ratio("moved") == pytest.approx(3 / 5)


def test_a_failed_server_has_the_time_of_a_replacement() -> None:
    region = Region()
    region.at_s = 10.0
    region.servers.fail(np.array([0, 2]))
    assert region.ratio("there") == pytest.approx(1.5)
    region.look(10.0 + REPLACED_S_MAX)
    assert region.ratio("there") == pytest.approx(5 / 6)
    assert region.ratio("moved") == pytest.approx(1.5), "no move took a server"


def test_a_failure_counts_once_the_promise_was_kept_with_its_buffer() -> None:
    region = Region(capacity_rru=7.0)  # 9 RRU are held, and 6 survive
    region.servers.fail(np.array([0]))
    region.look(REPLACED_S_MAX)
    assert region.ratio("there") == np.inf
    region.servers.mend(np.array([0]))
    region.watcher.promise(region.promises(6.0), REPLACED_S_MAX)
    region.servers.fail(np.array([0, 2]))
    region.look(2 * REPLACED_S_MAX)
    assert region.ratio("there") == pytest.approx(5 / 6)


def test_one_lost_msb_counts_and_two_do_not() -> None:
    region = Region()
    region.servers.fail(np.array([0, 1, 3]))
    region.look(REPLACED_S_MAX)
    assert region.ratio("there") == pytest.approx(5 / 6)
    region.servers.fail(np.array([2]))
    region.look(2 * REPLACED_S_MAX)
    assert region.ratio("there") == pytest.approx(5 / 6)


def test_a_reservation_that_does_not_survive_is_measured_while_every_msb_is_up() -> None:
    region = Region(capacity_rru=9.0, survives=False)
    region.servers.fail(np.array([0, 1]))
    region.look(REPLACED_S_MAX)
    assert region.ratio("others") == 1.0
    region.servers.mend(np.array([0, 1]))
    region.servers.fail(np.array([1, 3]))
    region.look(3 * REPLACED_S_MAX)
    assert region.ratio("others") == pytest.approx(7 / 9)


def test_a_new_promise_counts_from_the_moment_at_which_it_is_kept() -> None:
    region = Region()
    region.leaves(0, 1)  # 6 RRU are left
    region.watcher.promise(region.promises(12.0), 10.0)
    region.look(20.0)
    assert region.ratio("moved") == pytest.approx(1.0), "the old promise of 6 is in force, and kept"
    region.servers.reservation[:] = 1
    region.look(30.0)
    region.leaves(0)
    region.look(40.0)
    assert region.ratio("moved") == pytest.approx(7 / 9), "9 RRU of the new promise were there"
    assert np.isnan(region.watcher.kept_after_s).all()


def test_a_smaller_promise_and_another_unit_ask_for_less() -> None:
    region = Region()
    region.watcher.promise(region.promises(2.0), 10.0)
    region.leaves(0, 1, 2, 3)
    region.look(20.0)
    assert region.ratio("moved") == pytest.approx(1.5)
    region.watcher.promise(region.promises(2.0, rru=(0.5, 0.5)), 30.0)
    region.look(40.0)
    assert region.ratio("moved") == pytest.approx(1.0), "1 RRU of the new unit was there from the start"


def test_a_deleted_reservation_is_promised_nothing() -> None:
    region = Region()
    none = Promises(
        name=np.array([], object),
        capacity_rru=np.zeros(0),
        rru=np.zeros((0, 2)),
        survives=np.zeros(0, bool),
    )
    region.watcher.promise(none, 10.0)
    region.leaves(0, 1, 2, 3)
    region.look(20.0)
    assert region.ratio("moved") == pytest.approx(1.5)
