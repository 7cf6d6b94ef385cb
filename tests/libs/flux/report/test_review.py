from dataclasses import replace

import numpy as np

from libs.flux.planning import plan_world
from libs.flux.report.explain import explain
from libs.flux.report.review import changes_document
from tests.builders.world import random_world


def test_growth_is_named_as_the_cause_of_what_it_adds():
    words, models, inputs = random_world(3, steps=1, supply=4.0)
    inputs = replace(inputs, traffic_growth=np.array([[1.0, 0.0, 0.0]]))
    planned = plan_world(words, models, inputs)
    found = changes_document(planned, explain(planned.problem, planned.solved))
    pulls = {name: set() for name in words.products}
    for one in found["changes"]:
        for cause in one["because"]:
            pulls[cause["product"]].add(cause["pulled_by"])
    assert "Growth" in pulls["product-0"]
    assert not any("Growth" in pulls[name] for name in words.products[1:])
