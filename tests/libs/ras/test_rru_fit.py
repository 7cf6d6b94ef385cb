"""RRUs fitted to measured throughputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.ras.rru_fit import FittedRru, Measurement, fit_rru

SPEEDS = st.floats(1e-3, 1e6)


def measured(values: dict[tuple[str, str], list[float]]) -> list[Measurement]:
    return [
        Measurement(hardware_type=name, workload=workload, throughput=value)
        for (workload, name), several in values.items()
        for value in several
    ]


def fitted(values: dict[tuple[str, str], list[float]], reference: str = "ref") -> dict[str, FittedRru]:
    return {one.hardware_type: one for one in fit_rru(measured(values), reference)}


def test_it_is_the_geometric_mean_of_ratios_paired_by_workload() -> None:
    found = fitted(
        {("a", "ref"): [10], ("a", "new"): [20], ("b", "ref"): [1e6], ("b", "new"): [8e6], ("c", "new"): [1]}
    )
    assert (found["ref"].rru, found["ref"].low, found["ref"].high) == (1.0, 1.0, 1.0)
    new = found["new"]
    assert new.rru == pytest.approx(4.0)  # the square root of 2 times 8
    # Student's 97.5 % quantile at one degree of freedom is 12.706; the deviation of log 2 and log 8 is log 4 / sqrt 2
    assert new.high == pytest.approx(4.0 * np.exp(12.7062047 * np.log(4) / 2))
    assert (new.workloads, new.measurements) == (2, 2)  # nothing of c, which the reference does not have


@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(SPEEDS, SPEEDS, SPEEDS), min_size=1))
def test_the_unit_of_a_workload_does_not_matter(rows: dict[str, tuple[float, float, float]]) -> None:
    values = {(w, "ref"): [ref] for w, (ref, _, _) in rows.items()} | {
        (w, "new"): [own] for w, (_, own, _) in rows.items()
    }
    scaled = {(w, name): [x * rows[w][2] for x in several] for (w, name), several in values.items()}
    assert fitted(scaled)["new"].rru == pytest.approx(fitted(values)["new"].rru, rel=1e-6)


def test_repeats_of_one_workload_have_welchs_interval_and_single_values_none() -> None:
    assert fitted({("", "ref"): [2.0], ("", "new"): [3.0]})["new"].low is None
    new = fitted({("", "ref"): [2.0, 2.2, 1.9], ("", "new"): [3.0, 3.3, 3.1, 2.9]})["new"]
    assert new.low < new.rru < new.high
    assert new.rru == pytest.approx(np.exp(np.log([3.0, 3.3, 3.1, 2.9]).mean() - np.log([2.0, 2.2, 1.9]).mean()))


@pytest.mark.parametrize("workloads", [1, 8])
def test_the_interval_holds_the_truth_as_often_as_it_says(workloads: int) -> None:
    rng, hits, tries, repeats = np.random.default_rng(3), 0, 800, 6 if workloads == 1 else 1
    for _ in range(tries):
        values = {}
        for w in range(workloads):
            level = 10.0 ** rng.uniform(-2, 4)
            values[str(w), "ref"] = (level * np.exp(0.1 * rng.standard_normal(repeats))).tolist()
            values[str(w), "new"] = (1.7 * level * np.exp(0.3 * rng.standard_normal(repeats))).tolist()
        found = fitted(values)["new"]
        hits += found.low <= 1.7 <= found.high
    assert 0.93 <= hits / tries <= 0.97


def test_what_cannot_be_fitted_is_named() -> None:
    with pytest.raises(ValueError, match="old was not measured"):
        fitted({("a", "ref"): [1.0]}, "old")
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="of new must be positive"):
            fitted({("a", "ref"): [1.0], ("a", "new"): [wrong]})
