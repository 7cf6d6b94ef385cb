"""What a search minimises: the policy's sum, or what is broken first."""

from __future__ import annotations

from dataclasses import replace

from libs.ras.cost import cost_of
from libs.ras.problem import CountProblem

FIX_FIRST = 100.0
"""How many times its cost a penalty weighs in a search that fixes first: more than any mending costs, in practice."""


def goal_of(problem: CountProblem) -> CountProblem:
    """The problem that a search should solve: penalties outrank the objective where the policy says so.

    And no reservation's penalty may exceed what it is as things stand: what is broken may stay so, and gets no worse.
    Source: RAS, 3.5.1 (objectives that fix constraints come first); docs/adr/0004 and 0012.
    """
    policy = problem.policy
    if not policy.fix_first:
        return problem
    weighed = replace(
        policy,
        shortfall_cost=FIX_FIRST * policy.shortfall_cost,
        affinity_cost=FIX_FIRST * policy.affinity_cost,
    )
    goal = replace(problem, policy=weighed)
    return replace(goal, penalty_most=cost_of(goal, problem.held).penalty_by_reservation)
