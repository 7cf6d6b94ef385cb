"""Residuals and errors of models over runs."""

import xml.etree.ElementTree as ElementTree

import pytest

from tests.builders.planning_inputs import put_world

PATH = "/v1/model-figures"


def test_residuals_are_those_of_the_models_that_were_kept(client, planner, ask, world):
    assert client.get(PATH).json() == {"runs": [], "services": []}
    assert client.get(f"{PATH}/pictures/residuals.svg").status_code == 200
    put_world(client, world)
    runs = [ask(), ask(dry_run=True), ask()]
    for _ in runs:
        planner().reconcile()
    found = client.get(PATH, params={"services_max": 3}).json()
    assert [one["plan_run_id"] for one in found["runs"]] == [runs[2]]  # two runs are kept, and one is a dry run
    assert len(found["services"]) == 3
    sizes = [one["runs"][0]["capacity"] for one in found["services"]]
    assert sizes == sorted(sizes, reverse=True)
    name = found["services"][0]["service"]
    [model] = client.get("/v1/service-models", params={"service": name, "plan_run_id": runs[2]}).json()["items"]
    document = model["document"]
    expected = sum(map(abs, document["residual"].values())) / sum(document["baseline"].values())
    [one] = client.get(PATH, params={"service": name}).json()["services"]
    assert one["runs"] == [
        {"residual": pytest.approx(expected), "error": document["error"], "capacity": pytest.approx(sizes[0])}
    ]
    tree = ElementTree.fromstring(client.get(f"{PATH}/pictures/residuals.svg").text)
    assert [one for one in tree.iter() if one.tag.endswith("circle")]
    [unknown] = client.get(PATH, params={"service": "no such"}).json()["services"]
    assert unknown["runs"] == [None]
