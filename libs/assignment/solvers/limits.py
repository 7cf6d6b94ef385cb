"""Define the limits of time and work of a solve, and the reasons for its end."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from typing import Any

from libs.assignment.language.errors import BadValues
from libs.assignment.language.specs.fields import member_of
from libs.assignment.solvers.deal import Deal

AUTO_S_MAX = 60.0
"""Default seconds of `auto`."""
PARTS_LIMIT = 4096

_WHOLE = {
    "tries_max": 1,
    "threads": 1,
    "nodes_max": 0,
    "neighbourhoods_max": 0,
    "stall": 1,
    "exact_columns_max": 0,
    "parts": 1,
    "workers": 1,
}
"""Fields that are whole numbers, and the least value of each."""
_ENDLESS = {"tries_max", "nodes_max"}
"""Whole numbers that may be math.inf."""
_SWITCHES = ("first_improving", "insist", "whole_bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of time and work for every solver. None: the solver's default.

    A solver knows some of the fields; `solve` refuses a field that is set and that the solver does not know. The same
    problem, seed and limits of work give the same answer on any machine, unless a limit of time was hit.

    Every solver:

    time_s_max          seconds of wall clock: compiling and solving. `auto`: 60; others: no limit

    `local`, `price` (which polishes by local search), `partitioned`:

    tries_max           changes to evaluate, 20,000,000; math.inf: until the time is up, cooling by the clock
    threads             parallel walks, 1; the answer depends on the number
    first_improving     a descent takes the first better container instead of the best: faster with many containers

    `mip`, `portfolio`:

    nodes_max           nodes of branch and bound, for each priority; mip: no limit, portfolio: 500
    relative_gap        gap between answer and bound that is good enough; mip: 1e-4, portfolio: 1e-5

    `portfolio`:

    neighbourhoods_max  neighbourhoods to try; twice the containers, at least 30
    stall, stall_gain   end once `stall` neighbourhoods in a row gained less than `stall_gain` of the bound together;
                        8 (30 with at most 5,000 counts) or a 25th of the containers, and 2e-4
    near_gap            gap that is good enough, without neighbourhoods, where little has changed since the initial
                        assignment; that of `relative_gap`
    exact_columns_max   problems with at most this many count columns are solved as one, exactly; 200. Unless it is 0 or
                        `neighbourhoods_max` is given, those of up to 1,000 are too, after a search without proof
    whole_bound         whether trees of single containers raise the bound by whole objects; True. Without them it is
                        one of fractions, and the search takes less processor time

    `partitioned`:

    parts               number of parts, 1 to 4096; 4
    deal                the way to distribute containers to parts; BY_ATTRIBUTE
    split               containers that are in every part, by name or number; those too large for one part
    together            a scope whose items are not cut
    workers             parts solved at once; they share the time; 1
    polish              share of tries and time for a final local search over the whole, 0 to below 1; 0.2
    insist              cut the problem even if the test finds it not granular

    Raises: BadValues for a value out of range; UnknownName for a deal that does not exist.
    """

    time_s_max: float | None = None
    tries_max: float | None = None
    threads: int | None = None
    first_improving: bool | None = None
    nodes_max: float | None = None
    relative_gap: float | None = None
    neighbourhoods_max: int | None = None
    stall: int | None = None
    stall_gain: float | None = None
    near_gap: float | None = None
    exact_columns_max: int | None = None
    whole_bound: bool | None = None
    parts: int | None = None
    deal: Deal | str | None = None
    split: Sequence[str | int] | None = None
    together: str | None = None
    workers: int | None = None
    polish: float | None = None
    insist: bool | None = None

    def __post_init__(self) -> None:
        """Check every field that is set."""
        for name, least in _WHOLE.items():
            _check_whole(name, getattr(self, name), least, endless=name in _ENDLESS)
        for name in ("time_s_max", "relative_gap", "stall_gain", "near_gap", "polish"):
            _check_number(name, getattr(self, name))
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool | None):
                raise BadValues(f"limits: {name} = {getattr(self, name)!r}; expected True or False")
        if self.time_s_max is not None and not self.time_s_max > 0:
            raise BadValues(f"limits: time_s_max = {self.time_s_max}; expected seconds above 0")
        if self.parts is not None and self.parts > PARTS_LIMIT:
            raise BadValues(f"limits: parts = {self.parts}; expected 1 to {PARTS_LIMIT}")
        if self.polish is not None and not self.polish < 1:
            raise BadValues(f"limits: polish = {self.polish}; expected a share from 0 to below 1")
        if self.together is not None and not isinstance(self.together, str):
            raise BadValues(f"limits: together = {self.together!r}; expected the name of a scope")
        if self.deal is not None:
            object.__setattr__(self, "deal", member_of(Deal, self.deal, "limits: deal"))

    def given(self) -> dict[str, Any]:
        """Return the fields that are set, by name."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in every.items() if value is not None}


def _check_whole(name: str, value: Any, least: int, *, endless: bool) -> None:
    if value is None or (endless and value == math.inf):
        return
    or_inf = " or math.inf" if endless else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise BadValues(f"limits: {name} = {value!r}; expected a whole number{or_inf}")
    if int(value) < least:
        raise BadValues(f"limits: {name} = {value}; expected {least} or more")


def _check_number(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BadValues(f"limits: {name} = {value!r}; expected a number")
    if not float(value) >= 0:
        raise BadValues(f"limits: {name} = {value}; expected 0 or more")


class StoppedBy(StrEnum):
    """The reason for the end of a solve."""

    WORK = "work"
    """All tries are used up."""
    TIME = "time"
    """The time limit. On another machine the answer may differ."""
    DONE = "done"
    """The solver finished its work without reaching a limit."""
    LOCAL = "local"
    """No single move and no swap of two objects improves the answer, and further searches found no better one. A move
    that takes a broken limit above its excess in the answer is not counted, though the start may have exceeded it more.
    """
    OPTIMAL = "optimal"
    """The answer is proven best at every level."""
    CANCELLED = "cancelled"
    """The caller ended the solve."""
