"""The outlook for the loss of an MSB, against a count of each server's RRU."""

import numpy as np

from libs.domain.loss_outlook import LossGround
from libs.ras.loss_outlook import foresee_losses


def ground_of(held: np.ndarray, granted: np.ndarray, survives: np.ndarray) -> LossGround:
    R, M = held.shape
    names = np.array([f"msb-{m}" for m in range(M)], object)
    ones = np.ones(M, np.int64)
    return LossGround(
        kind="msb",
        datacenter=np.full(M, "dc", object),
        domain=names,
        servers=ones * 9,
        down=ones * 0,
        in_use=ones,
        spare=ones,
        reservation=np.array([f"r{r}" for r in range(R)], object),
        owner=np.full(R, "team", object),
        capacity_rru=granted + 5.0,
        granted_rru=granted,
        survives=survives,
        held_rru=held,
    )


def test_it_agrees_with_a_count_of_what_remains() -> None:
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(200):
        R, M = int(rng.integers(0, 5)), int(rng.integers(1, 5))
        held = rng.integers(0, 4, (R, M)).astype(float)
        granted = rng.integers(0, 9, R).astype(float)
        survives = rng.random(R) < 0.5
        for m, one in enumerate(foresee_losses(ground_of(held, granted, survives))):
            lacks = {}
            for r in range(R):
                rest = sum(held[r, other] for other in range(M) if other != m)
                if held[r, m] > 0 and rest < granted[r]:
                    lacks[f"r{r}"] = (granted[r] - rest, held[r, m], max(granted[r] - held[r].sum(), 0.0))
            assert {s.reservation: (s.missing_rru, s.lost_rru, s.missing_now_rru) for s in one.short} == lacks
            assert all(s.capacity_rru == s.granted_rru + 5.0 for s in one.short), "more is asked for"
            assert one.reservations == (held[:, m] > 0).sum()
            assert one.broken == sum(survives[int(name[1:])] for name in lacks)
            assert one.missing_rru == sum(missing - now for missing, _, now in lacks.values())
            assert [s.missing_rru for s in one.short] == sorted((s.missing_rru for s in one.short), reverse=True)
            seen += len(lacks)
    assert seen > 100


def test_rounding_makes_no_reservation_short() -> None:
    held = np.array([[0.1, 0.2, 0.3 - 1e-12]])
    (_, _, last) = foresee_losses(ground_of(held, np.array([0.3]), np.array([True])))
    assert last.short == ()


def test_a_reservation_that_is_promised_nothing_lacks_nothing() -> None:
    """Its sum over all MSBs may be a rounding error below what one MSB holds."""
    held = np.array([[1e-17, 1.0, 1e-17], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    for one in foresee_losses(ground_of(held, np.zeros(3), np.ones(3, bool))):
        assert one.short == ()
        assert one.reservations == 3
