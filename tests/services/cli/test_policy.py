"""The values of a policy, as a person gives them at a terminal."""

import pytest
import typer

from services.cli.policy import settings


def test_a_switch_is_set_as_it_is_shown() -> None:
    given = [settings([f"fix_first={value}"], "--set") for value in ("yes", "no", "true", "false")]
    assert [one["fix_first"] for one in given] == [True, False, True, False]
    assert settings(["buffer_cost=8"], "--set") == {"buffer_cost": 8.0}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["fix_first=maybe"], "is not a number"),
        (["buffer_cost"], "write NAME=VALUE"),
        (["=8"], "write NAME=VALUE"),
        (["buffer_cost=7", "buffer_cost=8"], "'buffer_cost' is given twice"),
    ],
)
def test_what_is_no_setting_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        settings(texts, "--set")
