"""A cost declared in RegionPolicy is in every model of the API, with its bounds and its description."""

from dataclasses import fields

import pytest
from pydantic import BaseModel, ValidationError

from libs.domain.policy import RegionPolicy
from services.broker.api.regions import PolicyIn, PolicyOut
from services.solver.api.what_if import SimulatedPolicy

DECLARED = {one.name: one for one in fields(RegionPolicy)}
SIMULATED = {name for name, one in DECLARED.items() if one.metadata.get("simulated", True)}


@pytest.mark.parametrize(
    ("model", "names"), [(PolicyOut, set(DECLARED)), (PolicyIn, set(DECLARED)), (SimulatedPolicy, SIMULATED)]
)
def test_the_models_have_the_fields_and_say_what_they_are(model: type[BaseModel], names: set[str]) -> None:
    shown = model.model_json_schema()["properties"]
    assert set(shown) == names
    for name, field in shown.items():
        assert field["description"] == DECLARED[name].metadata["description"]
        assert "default" not in field


def test_shared_buffers_and_bookings_are_not_simulated() -> None:
    assert set(DECLARED) - SIMULATED == {"shared_buffer_share", "booking_lead_s", "booking_horizon_s"}


@pytest.mark.parametrize("name", sorted(set(DECLARED) - SIMULATED))
def test_what_is_not_simulated_says_how_to_change_it(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        SimulatedPolicy.model_validate({name: 0.1})
    [error] = refused.value.errors()
    assert error["loc"] == (name,)
    assert "cannot be tried in a simulation or a roll-out: change it with `plimsoll policy" in error["msg"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("buffer_cost", -1.0),
        ("buffer_cost", 1e10),
        ("buffer_cost", "1"),
        ("buffer_cost", float("inf")),
        ("affinity_tolerance", 1.5),
        ("shared_buffer_share", 1.0),
        ("fix_first", 1),
        ("bufer_cost", 1.0),
    ],
)
def test_bounds_hold(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        PolicyIn.model_validate({name: value})


def test_what_is_left_out_is_not_set() -> None:
    assert PolicyIn.model_validate({"buffer_cost": 8}).model_dump(exclude_unset=True) == {"buffer_cost": 8.0}


def test_a_policy_from_a_file_may_be_past_the_bounds() -> None:
    assert PolicyOut.model_validate(RegionPolicy(buffer_cost=1e12)).model_dump()["buffer_cost"] == 1e12
