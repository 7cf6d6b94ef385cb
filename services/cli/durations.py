"""Parse and print durations for people."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import nan

import typer

from services.cli.failure import CliFailure

DURATION = "DURATION"
"""The metavar of an option that takes a duration."""
_UNITS_S = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_FORM = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)


def duration_s(option: str, text: str) -> float:
    """Return the seconds in a duration such as 30m, 90s, 2h30m or 1d.

    Raises: CliFailure.
    """
    found = _FORM.fullmatch(text)
    if not text or found is None:
        raise CliFailure(f"{option} {text} is not a duration. Write one such as 90s, 30m, 2h30m or 1d")
    return float(sum(int(count or 0) * unit_s for count, unit_s in zip(found.groups(), _UNITS_S.values(), strict=True)))


def seconds_from(least: float) -> Callable[[str], float]:
    """Return a parser of an option in seconds, from `least` on; inf means without a limit. It raises BadParameter."""

    def seconds(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = nan
        if not found >= least:  # nan too
            raise typer.BadParameter(f"{text} is no time: write seconds, {least:g} or more")
        return found

    return seconds


def in_words(seconds: float) -> str:
    """Return a duration in the form that `duration_s` reads, to the second."""
    left, said = round(seconds), ""
    for unit, unit_s in _UNITS_S.items():
        count, left = divmod(left, unit_s)
        said += f"{count}{unit}" if count else ""
    return said or "0s"
