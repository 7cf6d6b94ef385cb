import dataclasses

import numpy as np
import pytest

from libs.domain.demand import GROUPS, METRICS, Demand
from libs.flux.attribution.attribution import attribute
from libs.flux.models.baseline import measure_baseline
from libs.flux.models.service_models import SAMPLING_WEAK, fit_service_models
from tests.libs.flux.models.test_service_models import NEED, RATE, demand, observed, vocabulary

TRUTH = NEED / NEED.sum(1, keepdims=True)


def scattered(seed, scatter=0.8):
    """Return traces whose groups disagree: the fewer there are, the more."""
    mixed = np.random.default_rng(seed).lognormal(0, scatter, (GROUPS, 3, 2))
    told = demand()
    return dataclasses.replace(told, cost={m: told.cost[m] * mixed for m in METRICS})


def apart(models):
    return 0.5 * np.abs(models.attribution - TRUTH).sum(1)


def traced_alone(told: Demand):
    """Return the model from the same traces without usage."""
    return attribute(told, "cpu", measure_baseline(vocabulary(), observed()).traffic_at).share


def test_use_mends_what_few_spans_get_wrong():
    by_traces, weighed = [], []
    for seed in range(12):
        told = scattered(seed)
        models = fit_service_models(vocabulary(), observed(seed=seed, noise=0.02), told)
        assert models.attribution.sum(1) == pytest.approx(1.0)
        thin = models.sampling > SAMPLING_WEAK
        by_traces.extend(0.5 * np.abs(traced_alone(told) - TRUTH).sum(1)[thin])
        weighed.extend(apart(models)[thin])
    assert len(weighed) > 20
    assert np.mean(weighed) < 0.5 * np.mean(by_traces)
    assert np.max(weighed) < 0.7 * np.max(by_traces)


def test_use_that_says_little_does_no_harm():
    """Usage is all noise, or misses the model for hours. Its weight must be as small as its information."""

    def mean_apart(spoil):
        weighed, by_traces = [], []
        for seed in range(12):
            told, seen = scattered(seed), observed(seed=seed)
            spoilt = dataclasses.replace(seen, usage=seen.usage * spoil(np.random.default_rng(seed), seen.usage.shape))
            weighed.append(apart(fit_service_models(vocabulary(), spoilt, told)).mean())
            by_traces.append(0.5 * np.abs(traced_alone(told) - TRUTH).sum(1).mean())
        return np.mean(weighed) / np.mean(by_traces)

    assert mean_apart(lambda rng, shape: rng.lognormal(0, 0.5, shape)) < 1.0
    assert mean_apart(lambda rng, shape: np.repeat(rng.lognormal(0, 0.2, (*shape[:2], shape[2] // 36)), 36, 2)) < 1.0
    assert mean_apart(lambda rng, shape: np.ones(shape)) < 0.2


def test_a_region_out_of_balance_says_nothing_about_products():
    """The first region uses 15 % more for its own reasons, and it is the first product's home."""
    skew = np.tile([1.15, 1.0, 0.85], (3, 1))
    balanced = fit_service_models(vocabulary(), observed(), scattered(6)).attribution
    assert fit_service_models(vocabulary(), observed(skew=skew), scattered(6)).attribution == pytest.approx(
        balanced, abs=0.01
    )


def test_many_spans_are_not_weighed():
    told = demand(per_request=NEED / RATE * [1.05, 1.0])
    assert fit_service_models(vocabulary(), observed(), told).attribution == pytest.approx(traced_alone(told), abs=1e-3)


def test_a_service_or_product_without_measurements_breaks_nothing():
    seen, told = observed(), scattered(7)
    usage, traffic = seen.usage.copy(), seen.traffic.copy()
    usage[1], traffic[1] = np.nan, np.nan
    models = fit_service_models(vocabulary(), dataclasses.replace(seen, usage=usage), told)
    assert np.isfinite(models.attribution).all()
    assert models.modelled.tolist() == [True, False, True]
    half = fit_service_models(vocabulary(), dataclasses.replace(seen, traffic=traffic), told)
    assert np.isfinite(half.attribution).all()
    assert half.attribution.sum(1) == pytest.approx(1.0)


def test_samples_that_are_missing_do_not_count():
    seen, told = observed(noise=0.002), scattered(8)
    usage = seen.usage.copy()
    usage[:, 1, ::3] = np.nan
    usage[:, 2, 50:90] = np.nan
    whole = fit_service_models(vocabulary(), seen, told).attribution
    gaps = fit_service_models(vocabulary(), dataclasses.replace(seen, usage=usage), told).attribution
    assert gaps == pytest.approx(whole, abs=0.02)
