import math
from datetime import UTC, datetime, timedelta

import pytest

from libs.domain.execution_plan import Action, Phase
from libs.domain.gate import Gate, GateMode, GateReading, GateTime, Verdict
from libs.flux.execution.gates import bound_of, gates_of, query_of, stand_of, verdict_of

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
GATE = Gate(name="errors", time=GateTime.FRACTION, query="q", most=1.0, samples_min=2, bad_min=2, age_s_max=300.0)


def readings(*values: float | None, every_s: float = 60.0, gate: str = "errors") -> list[GateReading]:
    """The last value is from now."""
    last = len(values) - 1
    return [
        GateReading(
            position=0, gate=gate, at=NOW - timedelta(seconds=every_s * (last - i)), value=v, query="q", bound=""
        )
        for i, v in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), Verdict.UNKNOWN),
        ((None, None, None), Verdict.UNKNOWN),
        ((0.5,), Verdict.UNKNOWN),  # one sample of two
        ((0.5, math.nan), Verdict.UNKNOWN),
        ((0.5, 0.5), Verdict.GOOD),
        ((0.5, None, 0.5), Verdict.GOOD),
        ((0.5, 2.0), Verdict.UNKNOWN),  # once is not yet bad, and not good
        ((2.0, 2.0), Verdict.BAD),
        ((0.5, 2.0, 2.0), Verdict.BAD),
        ((2.0, 2.0, 0.5), Verdict.GOOD),
        ((math.inf, math.inf), Verdict.BAD),
    ],
)
def test_the_verdict_is_a_function_of_the_readings(values, expected):
    found = verdict_of(GATE, readings(*values), since=NOW - timedelta(hours=1), now=NOW)
    assert found is expected
    assert verdict_of(GATE, readings(*values)[::-1], since=NOW - timedelta(hours=1), now=NOW) is found


def test_old_readings_and_those_of_another_fraction_say_nothing():
    old = readings(0.5, 0.5, 0.5)
    assert verdict_of(GATE, old, since=NOW, now=NOW) is Verdict.UNKNOWN
    assert verdict_of(GATE, old, since=NOW - timedelta(hours=1), now=NOW + timedelta(seconds=301)) is Verdict.UNKNOWN


def test_together_the_worst_decides_and_observing_does_not_count():
    def stand(*gates, given):
        return stand_of(gates, given, since=NOW - timedelta(hours=1), now=NOW)

    other = Gate(name="latency", time=GateTime.FRACTION, query="q", most=1.0, mode=GateMode.REVERSE)
    given = [*readings(0.5, 0.5), *readings(3.0, gate="latency")]
    found = stand(GATE, other, given=given)
    assert (found.verdict, found.mode, found.why) == (Verdict.BAD, GateMode.REVERSE, "latency")
    watched = Gate(name="latency", time=GateTime.FRACTION, query="q", most=1.0, mode=GateMode.OBSERVE)
    assert stand(GATE, watched, given=given).verdict is Verdict.GOOD
    assert stand(GATE, other, given=readings(0.5, 0.5)).why == "latency"


def test_a_gate_is_for_its_product_and_names_are_filled_in():
    shift = Action(action="a", phase=Phase.SHIFT, product="shop", region="east", to_region="west")
    gate = Gate(name="g", time=GateTime.FRACTION, query='rate(x{p="{product}",r="{to_region}"}[5m])', product="shop")
    assert gates_of([gate, GATE], shift) == [gate, GATE]
    assert gates_of([gate], Action(action="a", phase=Phase.SHIFT, product="feed")) == []
    assert gates_of([gate], Action(action="a", phase=Phase.UPSIZE, service="s")) == []
    assert query_of(gate, shift) == 'rate(x{p="shop",r="west"}[5m])'
    assert bound_of(Gate(name="g", time=GateTime.FRACTION, query="", least=0.5, most=2)) == ">= 0.5 and <= 2"
