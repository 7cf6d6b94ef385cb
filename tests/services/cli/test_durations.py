"""Durations are read and written in one form."""

import pytest

from services.cli.durations import duration_s, in_words
from services.cli.failure import CliFailure


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("2h30m", 9000), ("1d", 86_400), ("1d1s", 86_401)]
)
def test_a_duration_is_its_seconds(text: str, seconds: float) -> None:
    assert duration_s("--solve-every", text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(90, "1m30s"), (1800, "30m"), (9000, "2h30m"), (604_800, "7d"), (0.2, "0s"), (61.6, "1m2s")]
)
def test_seconds_are_said_in_the_same_form(seconds: float, text: str) -> None:
    assert in_words(seconds) == text


@pytest.mark.parametrize("text", ["", "30", "half an hour", "30m2h", "-30m", "1.5h", " 30m", "30M"])
def test_any_other_text_is_answered_with_the_form(text: str) -> None:
    with pytest.raises(CliFailure, match=r"--solve-every .*90s, 30m, 2h30m or 1d"):
        duration_s("--solve-every", text)
