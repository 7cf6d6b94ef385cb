"""Load problems of assignment by one word each: KIND:PATH[:PATH]."""

from __future__ import annotations

from pathlib import Path

from benchmarks.placement_model import placement_problem
from benchmarks.roadef_model import load_roadef
from libs.assignment.language.problem import Problem
from libs.assignment.replay.file import load_replay
from libs.interchange.placement.read import load_placement
from libs.interchange.region.read import load_region
from libs.ras.statement import state_region

KINDS = "roadef:MODEL:ASSIGNMENT, region:DIR, placement:DIR or replay:FILE"


def load_problem(word: str) -> Problem:
    """Return the problem of a word."""
    kind, _, rest = word.partition(":")
    if kind == "roadef":
        model, _, assignment = rest.partition(":")
        return load_roadef(Path(model), Path(assignment))
    if kind == "region":
        return state_region(load_region(Path(rest)).snapshot).problem
    if kind == "placement":
        return placement_problem(load_placement(Path(rest)))
    if kind == "replay":
        return load_replay(Path(rest)).problem
    raise ValueError(f"{word}: expected {KINDS}")
