from dataclasses import replace

import numpy as np
import pytest

from libs.domain.execution_plan import Phase
from libs.flux.planning import plan_world
from libs.flux.report.traffic_growth import percent, traffic_growth_document
from tests.builders.world import random_world


def planned(growth, **controls):
    words, models, inputs = random_world(3, steps=1, supply=2.0)
    changed = replace(inputs.controls, **controls)
    supply = inputs.supply * [0.5, 1, 1, 1]
    return plan_world(
        words, models, replace(inputs, controls=changed, supply=supply, traffic_growth=np.array([growth]))
    )


def test_a_rise_has_the_hours_until_its_capacity_is_there():
    found = planned([0.1, 0.4, 0.0])
    assert [one["product"] for one in traffic_growth_document(found)] == ["product-1", "product-0"]
    actions = [a for a in found.execution.actions if a.phase in (Phase.UPSIZE, Phase.SHIFT)]
    ends = max(a.start_h + a.estimate_h for a in actions)
    assert found.execution.estimate_h > ends > 24.0
    (first, _) = traffic_growth_document(found, step_h=ends)
    assert (first["ready_h"], first["late"]) == (ends, False)
    (late, _) = traffic_growth_document(found, step_h=ends - 1.0)
    assert late["late"]
    assert late["message"].endswith("; that is after the end of the step")
    assert late["message"].startswith(f"product-1 grows by 40 %: the capacity for it is there {ends / 24:.1f} days")
    slow = planned([0.1, 0.4, 0.0], lead_time_h=np.full(6, 1000.0))
    assert traffic_growth_document(slow, step_h=168.0)[0]["late"]


def test_a_rise_without_hardware_is_said_to_lack_it():
    words, models, inputs = random_world(3, steps=1, supply=0.9)
    found = plan_world(words, models, replace(inputs, traffic_growth=np.array([[0.5, 0.0, -0.5]])))
    lacking = found.solved.plan.deficit[0].sum()
    (rise, fall) = traffic_growth_document(found)
    assert (rise["lacking"], fall["lacking"]) == (pytest.approx(lacking), 0.0)
    assert lacking > 1.0
    assert f"lack {lacking:,.4g} of hardware" in rise["message"]


def test_a_fall_is_said_not_to_count():
    (one,) = traffic_growth_document(planned([0.0, 0.0, -1.0]), step_h=1.0)
    assert (one["product"], one["growth"], one["ready_h"], one["late"]) == ("product-2", -1.0, None, None)
    assert one["message"].startswith("product-2 falls by 100 %: its capacity stays")
    assert traffic_growth_document(planned([0.0, 0.0, 0.0])) == []


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.2, "20 %"), (1e-7, "1e-05 %"), (0.12345, "12.3 %"), (9.999, "1,000 %"), (1e6, "100,000,000 %")],
)
def test_growth_is_read_with_three_digits(share, text):
    assert percent(share) == text
