import numpy as np
import pytest

from libs.mip.bound import bound_from_prices
from libs.mip.highs import Limits, SolverError, solve_lp, solve_mip
from libs.mip.model import Mip


def knapsack(integer=True):
    """Return max 5a + 4b + 3c, 2a + 3b + c <= 5, 4a + b + 2c <= 11, 3a + 4b + 2c <= 8; 0 <= x <= 10: 13 at (2, 0,
    1).
    """
    m = Mip()
    x = m.add_columns(3, cost=[-5, -4, -3], upper=10, integer=integer)
    rows = np.repeat(np.arange(3), 3), np.tile(x, 3), np.array([2, 3, 1, 4, 1, 2, 3, 4, 2.0])
    m.add_rows(3, rows, upper=[5, 11, 8])
    return m.build()


@pytest.mark.parametrize("method", ["ipm", "pdlp", "simplex"])
def test_every_method_finds_the_optimum_of_a_linear_program(method):
    found = solve_lp(knapsack(False), method)
    assert found.objective == pytest.approx(-13, abs=1e-3)
    assert found.bound == pytest.approx(-13, abs=1e-3)
    assert found.bound <= -13 + 1e-6 or method == "pdlp"


def test_integer_programs_and_their_bound():
    found = solve_mip(knapsack())
    assert found.optimal
    assert np.rint(found.x).tolist() == [2, 0, 1]
    assert found.bound == pytest.approx(-13)


def test_any_prices_bound_the_optimum_from_below():
    rng = np.random.default_rng(0)
    model = knapsack()
    for _ in range(200):
        assert bound_from_prices(model, rng.normal(0, 3, 3)) <= -13 + 1e-9


def test_a_start_is_kept_when_no_work_is_allowed():
    start = np.array([1.0, 1.0, 0.0])
    found = solve_mip(knapsack(), Limits(nodes_max=0), start=start)
    assert found.objective <= -9


def test_an_infeasible_model_says_so_without_a_point():
    m = Mip()
    x = m.add_columns(1, upper=1.0)
    m.add_rows(1, ([0], x, 1.0), lower=2.0)
    found = solve_lp(m.build(), "simplex")
    assert found.infeasible
    assert not found.optimal


def test_progress_is_told_and_cancelling_stops():
    rng = np.random.default_rng(1)
    m = Mip()
    x = m.add_columns(60, cost=-rng.integers(10, 99, 60), upper=1, integer=True)
    m.add_rows(5, (np.repeat(np.arange(5), 60), np.tile(x, 5), rng.integers(10, 99, 300)), upper=1300)
    seen = []
    solve_mip(m.build(), Limits(nodes_max=50), progress=lambda *numbers: seen.append(numbers))
    assert seen
    assert all(incumbent >= bound for incumbent, bound, _ in seen)
    stopped = solve_mip(m.build(), cancelled=lambda: True)
    assert stopped.timed_out
    assert not stopped.optimal


def test_refused_models_raise():
    m = Mip()
    m.add_columns(1, cost=np.nan)
    with pytest.raises(SolverError):
        solve_lp(m.build())


def test_offset_and_violation():
    m = Mip()
    x = m.add_columns(2, cost=1.0, upper=5.0)
    m.add_rows(1, ([0, 0], x, [1.0, 1.0]), lower=3.0)
    m.offset = 7.0
    model = m.build()
    assert solve_lp(model).bound == pytest.approx(10)
    assert model.objective(np.array([1.0, 1.0])) == 9.0
    assert model.violation(np.array([1.0, 1.0])) == 1.0
    assert model.violation(np.array([1.0, 6.0])) == 1.0


def test_an_empty_model_is_solved():
    assert solve_lp(Mip().build()).objective == 0.0


@pytest.mark.parametrize("method", ["ipm", "simplex"])
def test_an_error_of_the_caller_is_raised(method):
    """Interior point alone would lose it, and Ctrl-C with it."""

    def fail():
        raise KeyboardInterrupt

    rng, size = np.random.default_rng(0), 60
    m = Mip()
    x = m.add_columns(size, cost=-rng.random(size), upper=1, integer=False)
    rows = np.repeat(np.arange(size), size), np.tile(x, size), rng.random(size * size)
    m.add_rows(size, rows, upper=[5.0] * size)
    with pytest.raises(KeyboardInterrupt):
        solve_lp(m.build(), method, cancelled=fail)
