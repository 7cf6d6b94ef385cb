"""`./scripts/bench deltas`: measure the evaluation speed of changes in a machine reassignment, and the error of
increments.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.roadef_model import load_roadef
from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.delta import ask, evaluate_single
from libs.assignment.incremental.program import compile_problem
from libs.assignment.incremental.tables import (
    CELLS,
    CONTAINERS,
    EXCESS,
    HARD,
    OBJECTS,
    STACK,
    STACKS,
    WEIGHT,
    State,
    Tables,
)
from libs.assignment.kernels.jit import compiled
from libs.assignment.language.problem import Problem
from libs.assignment.solvers.local.move_frequencies import Mix, usable_kinds
from libs.assignment.solvers.local.random_draws import random_below, seed_random
from libs.assignment.solvers.local.walk import Walk


@compiled
def evaluate_moves(g: Tables, s: State, moves: int, seed: int) -> int:
    """Evaluate random single moves without making them. Return the number of allowed ones."""
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    allowed = 0
    for _ in range(moves):
        ask(g, s, 0, random_below(g, s, g.node[0, OBJECTS]), random_below(g, s, g.node[0, CONTAINERS]))
        allowed += evaluate_single(g, s)
    return allowed


def bench_deltas(argv: list[str]) -> dict[str, object]:
    """Return rates per second of processor time on one core, and the error of the objective after a long walk."""
    parser = argparse.ArgumentParser(prog="bench deltas")
    parser.add_argument("model", type=Path)
    parser.add_argument("assignment", type=Path)
    parser.add_argument("--changes", type=int, default=2_000_000)
    given = parser.parse_args(argv)
    problem = load_roadef(given.model, given.assignment)
    program = compile_problem(problem)
    tables, state = program.tables, program.state(problem.initial)
    evaluate_moves(tables, state, 1, 0)
    tried_s, allowed = _timed(tables, state, given.changes)
    walk = Walk(program, problem.initial, 1)
    heat = float(walk.value[1]) * 1e-3
    walk.anneal(
        1, heat, heat, given.changes, np.zeros(program.levels), Mix(usable_kinds(program, proposals=False)).shares
    )
    whole = program.state(walk.assignment.copy()).part[: program.levels]
    return {
        "tries_per_s": given.changes / tried_s,
        "allowed_share": allowed / given.changes,
        "full_deltas_per_s": full_deltas_per_s(problem, given.changes),
        "walk_made": walk.made,
        "walk_error": float(np.abs(whole - walk.value).max()),
        "objective": float(whole[1]),
    }


def full_deltas_per_s(problem: Problem, changes: int = 200_000) -> float:
    """Return the number of random moves per second of processor time that are evaluated in every term, on one core."""
    program = compile_problem(problem)
    tables, state = without_limits(program.tables), program.state(problem.initial)
    evaluate_moves(tables, state, 1, 0)
    return changes / _timed(tables, state, changes)[0]


def without_limits(tables: Tables) -> Tables:
    """Return the tables without limits, so that every term of every change is evaluated."""
    node, number = tables.node.copy(), tables.number.copy()
    node[1 : 1 + node[0, CELLS], HARD] = 0
    first = node[0, STACK]
    for stack in node[first : first + node[0, STACKS]]:
        number[stack[EXCESS] : stack[WEIGHT] : 2] = np.inf
    return tables._replace(node=node, number=number)


def _timed(tables: Tables, state: State, changes: int) -> tuple[float, int]:
    began = time.process_time()
    allowed = evaluate_moves(tables, state, changes, 1)
    return time.process_time() - began, allowed
