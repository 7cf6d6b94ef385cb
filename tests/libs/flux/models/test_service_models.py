import dataclasses

import numpy as np
import pytest

from libs.domain.calls import Calls
from libs.domain.demand import GROUPS, METRICS, Demand
from libs.domain.world import Observations, Vocabulary
from libs.flux.attribution.attribution import attribute, untraced
from libs.flux.models.service_models import fit_service_models
from tests.builders.world import names

SHARE = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
RATE = np.array([1000.0, 500.0])
NEED = np.array([[2.0, 1.0], [1.0, 4.0], [3.0, 3.0]])
"""(S, P) capacity of a service for all traffic of a product: 2/3, 1/5 and 1/2 of it are for the first product."""


def vocabulary():
    return Vocabulary(
        products=names("product", 2),
        regions=names("region", 3),
        hardware_types=names("hw", 1),
        services=names("service", 3),
        service_type=np.zeros(3, np.int32),
        placement_service=np.arange(3, dtype=np.int32),
        placement_type=np.zeros(3, np.int32),
        placement_ratio=np.ones(3),
    )


def observed(*, skew=None, noise=0.005, seed=0):
    """Return two days, a sample every 20 minutes; the second product rises less towards noon. skew: (S, R) factors."""
    rng = np.random.default_rng(seed)
    minute = np.arange(0, 2880, 20)
    wave = np.exp(-(((minute % 1440) - 720) ** 2) / 60_000)
    level = np.stack([0.4 + 0.6 * wave, 0.8 + 0.2 * wave])
    traffic = RATE[:, None, None] * SHARE[:, :, None] * level[:, None, :]
    usage = np.einsum("sp,prm->srm", NEED / RATE, traffic) * rng.lognormal(0, noise, (3, 3, len(minute)))
    usage *= np.ones((3, 3, 1)) if skew is None else np.asarray(skew)[:, :, None]
    return Observations(minute=minute, usage=usage, traffic=traffic)


def demand(*, per_request=None, requests=(400.0, 100.0), spans=1000, wrong=None, seed=1):
    """Return traces whose cpu agrees with NEED. wrong (S, P): the calls' contradicting values."""
    rng = np.random.default_rng(seed)
    each = NEED / RATE if per_request is None else per_request
    gateway = np.array(requests) / GROUPS * rng.uniform(0.9, 1.1, (GROUPS, 2))
    cost = each[None] * gateway[:, None, :]
    count = np.full(3, float(spans))
    return Demand(
        cost={"cpu": cost, "calls": cost * (1.0 if wrong is None else wrong), "self_time": cost},
        gateway=gateway,
        spans=count,
        attributed=count,
        orphaned=np.zeros(3),
        cpu_stated=count,
        edges=Calls.none(),
        duplicates=0,
    )


WRONG = np.array([[1.0, 9.0], [9.0, 1.0], [1.0, 5.0]])


def test_the_model_says_what_each_product_needs():
    models = fit_service_models(vocabulary(), observed(), demand(wrong=WRONG))
    assert models.metric.tolist() == ["cpu"] * 3
    assert models.capacity == pytest.approx(NEED.sum(1), rel=0.02)
    assert models.attribution == pytest.approx(NEED / NEED.sum(1, keepdims=True), abs=0.01)
    assert models.presence == pytest.approx(SHARE)
    assert models.baseline == pytest.approx(NEED @ SHARE, rel=0.02)
    assert models.residual(vocabulary()) == pytest.approx(0.0, abs=0.05)
    assert models.error.max() < 0.02
    assert models.reasons.tolist() == [()] * 3


def test_how_many_requests_were_sampled_of_each_product_cancels_out():
    requests = np.broadcast_to(RATE, (3, 2))
    one, other = (attribute(demand(requests=r), "cpu", requests).share for r in ((400, 100), (10, 900)))
    assert one == pytest.approx(other)
    unmeasured = np.full((3, 2), np.nan)
    by_traces = attribute(demand(requests=(1000, 500)), "cpu", unmeasured).share
    assert by_traces == pytest.approx(one, abs=0.02)


def test_calls_are_chosen_where_they_explain_the_use_and_cpu_does_not():
    misled = demand(wrong=1 / WRONG, per_request=NEED / RATE * WRONG)
    models = fit_service_models(vocabulary(), observed(), misled)
    assert models.metric.tolist() == ["calls"] * 3
    assert models.attribution == pytest.approx(NEED / NEED.sum(1, keepdims=True), abs=0.01)


def test_what_says_as_much_as_stated_cpu_does_not_replace_it():
    """A slight advantage of calls could be noise, so cpu stays; with a clear advantage, calls replace it."""
    share = NEED / NEED.sum(1, keepdims=True)

    def metric(cpu, calls):
        told = demand(per_request=NEED / RATE * (1 + cpu / share * [1, -1]))
        told = dataclasses.replace(
            told, cost=told.cost | {"calls": demand(wrong=1 + calls / share * [1, -1]).cost["calls"]}
        )
        return fit_service_models(vocabulary(), observed(noise=0.05), told).metric.tolist()

    assert metric(cpu=0.005, calls=0.0) == ["cpu"] * 3
    assert metric(cpu=0.10, calls=0.0) == ["calls"] * 3


def test_a_fit_to_the_traffic_is_doubted_only_where_it_contradicts_the_traces():
    def fitted(scatter, wrong):
        loud = demand()
        mixed = np.random.default_rng(3).lognormal(0, scatter, (GROUPS, 3, 2)) * wrong
        told = dataclasses.replace(loud, cost={m: loud.cost[m] * mixed for m in METRICS})
        return fit_service_models(vocabulary(), observed(), told)

    within = fitted(1.0, [1.0, 1.0])
    assert within.sampling.min() > 0.03
    assert within.attribution == pytest.approx(NEED / NEED.sum(1, keepdims=True), abs=0.02)
    assert not any("FittedToUse" in reasons for reasons in within.reasons)
    beyond = fitted(0.35, [8.0, 1.0])
    assert beyond.attribution[1] == pytest.approx([0.2, 0.8], abs=0.02)
    assert "FittedToUse" in beyond.reasons[1]


def test_a_region_out_of_balance_does_not_choose_the_metric():
    """The wrong metric would explain this imbalance, but not the changes of usage over the day."""
    use = np.array([[1.0, 1.0, 1.0], [1.15, 1.0, 0.88], [1.0, 1.0, 1.0]])
    models = fit_service_models(vocabulary(), observed(skew=use), demand(wrong=WRONG))
    assert models.metric.tolist() == ["cpu"] * 3
    rho = models.residual(vocabulary())[1]
    assert rho[0] > 0.05
    assert rho[2] < -0.05


def test_self_time_stands_in_only_where_nobody_states_instructions():
    none = dataclasses.replace(demand(wrong=WRONG), cpu_stated=np.zeros(3))
    assert fit_service_models(vocabulary(), observed(), none).metric.tolist() == ["self_time"] * 3


def test_low_confidence_says_why():
    few = demand(spans=50)
    assert fit_service_models(vocabulary(), observed(), few).reasons.tolist() == [("FewSpans",)] * 3
    lost = dataclasses.replace(demand(), attributed=np.array([700.0, 1000.0, 1000.0]))
    assert fit_service_models(vocabulary(), observed(), lost).reasons.tolist() == [("LowCoverage",), (), ()]
    loud = fit_service_models(vocabulary(), observed(noise=0.4), demand())
    assert all("ModelError" in reasons for reasons in loud.reasons)
    blind = demand()
    blind = dataclasses.replace(blind, gateway=blind.gateway * [1.0, 0.0])
    assert untraced(blind, np.broadcast_to(RATE, (3, 2))).tolist() == [False, True]
    found = fit_service_models(vocabulary(), observed(), blind).reasons
    assert all("UntracedProducts" in reasons for reasons in found)


def test_a_service_that_no_trace_reaches_is_fitted_to_the_traffic():
    nothing = demand().of_services([-1, 1, 2])
    models = fit_service_models(vocabulary(), observed(), nothing)
    assert models.reasons.tolist() == [("NoSpans",), (), ()]
    assert models.attribution[0] == pytest.approx([2 / 3, 1 / 3], abs=0.05)


def test_groups_that_disagree_make_the_attribution_unsure():
    rng = np.random.default_rng(2)
    quiet = demand()
    loud = {m: quiet.cost[m] * rng.lognormal(0, 1.0, (GROUPS, 3, 2)) for m in METRICS}
    sure, unsure = (
        attribute(d, "cpu", np.broadcast_to(RATE, (3, 2))).sampling
        for d in (quiet, dataclasses.replace(quiet, cost=loud))
    )
    assert (sure < 1e-6).all()
    assert (unsure > 0.03).all()


def test_nothing_measured_is_nothing_modelled():
    seen = observed()
    usage = seen.usage.copy()
    usage[1] = np.nan
    models = fit_service_models(vocabulary(), dataclasses.replace(seen, usage=usage), demand())
    assert models.modelled.tolist() == [True, False, True]
    assert models.capacity[1] == 0.0


def test_an_owners_cost_model_replaces_what_traces_say():
    custom = np.full((3, 2), np.nan)
    custom[1] = [0.9, 0.1]
    models = fit_service_models(vocabulary(), observed(), demand(spans=10), custom)
    assert models.metric.tolist() == ["cpu", "custom", "cpu"]
    assert models.attribution[1].tolist() == [0.9, 0.1]
    assert models.reasons.tolist() == [("FewSpans",), ("ModelError",), ("FewSpans",)]
    right = np.where(np.isnan(custom), np.nan, NEED / NEED.sum(1, keepdims=True))
    assert fit_service_models(vocabulary(), observed(), demand(spans=10), right).reasons[1] == ()
