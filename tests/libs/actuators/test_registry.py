"""Every file in libs/actuators is an actuator that can be chosen by name."""

import pytest

from libs.actuators.actuator import Actuator
from libs.actuators.registry import actuator_names, create_actuator
from libs.reconcile.clock import SystemClock


def test_there_is_the_simulated_one() -> None:
    assert "simulated" in actuator_names()


@pytest.mark.parametrize("name", sorted(actuator_names()))
def test_each_can_be_made_and_does_nothing_when_asked_for_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_WEBHOOK_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PLIMSOLL_WEBHOOK_SECRET", "0123456789abcdef")
    actuator = create_actuator(name, SystemClock())
    assert isinstance(actuator, Actuator)
    assert list(actuator.perform([])) == []


def test_an_unknown_one_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"choose one of .*simulated"):
        create_actuator("registry", SystemClock())
