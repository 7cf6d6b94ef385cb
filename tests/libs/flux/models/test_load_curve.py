import numpy as np
import pytest

from libs.flux.models.load_curve import NoCurveError, fit_load_curve


def queue(q, capacity=100.0, idle=0.05):
    """Return a made-up service: requests cost more near its limit."""
    return idle + 0.4 * q / capacity + 0.5 * np.maximum(q / capacity - 0.6, 0.0) / 0.4


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_bends_where_the_service_does(seed):
    rng = np.random.default_rng(seed)
    q = rng.uniform(5, 100, 60)
    curve = fit_load_curve(q, queue(q) + rng.normal(0, 0.01, 60))
    at = np.linspace(5, 100, 40)
    assert np.abs(curve.utilisation(at) - queue(at)).max() < 0.05
    assert curve.error < 0.04
    assert (np.diff(curve.utilisation(at)) >= -1e-12).all()
    assert (np.diff(curve.utilisation(at), 2) >= -1e-9).all()
    # linear in the first two thirds, it would promise far too much
    assert curve.throughput(0.7) == pytest.approx(100 * (0.6 + (0.7 - 0.29) * 0.4 / 0.66), rel=0.05)


def test_the_unit_of_throughput_does_not_matter():
    q = np.linspace(5, 100, 12)
    small, large = fit_load_curve(q * 1e-6, queue(q)), fit_load_curve(q * 1e6, queue(q))
    assert small.throughput(0.5) * 1e12 == pytest.approx(large.throughput(0.5), rel=1e-6)


def test_nothing_is_promised_beyond_what_was_tested():
    curve = fit_load_curve(np.linspace(1, 10, 8), np.linspace(0.1, 0.5, 8))
    assert curve.throughput(0.9) == 10
    assert curve.throughput(0.3) == pytest.approx(5.5)


@pytest.mark.parametrize(
    ("q", "u", "reason"),
    [
        ([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4], "TooFewPoints"),
        ([1, 1, 2, 2, 3, 3], [0.1, 0.1, 0.2, 0.2, 0.3, 0.3], "TooFewPoints"),
        ([1, 2, 3, 4, 5], [0.5, 0.4, 0.3, 0.2, 0.1], "NoRise"),
    ],
)
def test_points_that_bear_no_curve_are_refused(q, u, reason):
    with pytest.raises(NoCurveError) as error:
        fit_load_curve(np.array(q, float), np.array(u, float))
    assert error.value.reason == reason


def test_a_service_that_is_too_busy_without_requests_has_no_throughput():
    curve = fit_load_curve(np.arange(1.0, 8.0), 0.6 + 0.05 * np.arange(1.0, 8.0))
    with pytest.raises(NoCurveError, match="IdleAboveLimit"):
        curve.throughput(0.5)


def test_a_fit_that_follows_noise_says_so():
    rng = np.random.default_rng(3)
    q = np.linspace(1, 10, 12)
    assert fit_load_curve(q, 0.05 * q + rng.normal(0, 0.15, 12)).error > 0.1
    assert fit_load_curve(q, 0.05 * q).error < 1e-9
