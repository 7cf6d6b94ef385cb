"""Make the actions that take back what an execution did: upsize back, shift back, downsize back."""

from __future__ import annotations

from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Progress
from libs.flux.execution.plan import scheduled
from libs.flux.execution.real_sizes import real_sizes

BACK = "/back"
"""Ends the id of an action that takes back the action with the rest of the id."""


def reverse_actions(graph: ExecutionGraph, progress: Progress) -> tuple[Action, ...]:
    """Return the actions that lead back, in topological order; () if nothing was done.

    The last change is taken back first: the reverse of an action waits for the reverses of all actions that waited
    for it, directly or through actions that did nothing. So capacity comes back before its traffic, and leaves after
    it. A part of a shift is taken back as that part.
    """
    n = len(graph.actions)
    done = (progress.asked > 0) | (progress.reached > 0)
    done &= (graph.pool >= 0) | (graph.phase == _SHIFT)
    behind: list[set[int]] = [set() for _ in range(n)]  # per action: what was done, of all that waits for it
    followers: list[list[int]] = [[] for _ in range(n)]
    for before, after in zip(graph.waits_from.tolist(), graph.waits_to.tolist(), strict=True):
        followers[before].append(after)
    for i in reversed(range(n)):
        for j in followers[i]:
            behind[i] |= {j} if done[j] else behind[j]
    names = {i: _name(graph.actions[i]) for i in range(n) if done[i]}
    had, has = (sizes.tolist() for sizes in real_sizes(graph, progress))
    found = []
    for i in reversed(list(names)):
        waits = tuple(names[j] for j in sorted(behind[i]))
        found.append(_reverse(graph.actions[i], progress, i, names[i], waits, (had[i], has[i])))
    return scheduled(found, 0).actions


def _name(action: Action) -> str:
    return action.action + BACK


def _reverse(
    action: Action, progress: Progress, i: int, name: str, waits: tuple[str, ...], sizes: tuple[float, float]
) -> Action:
    """Return what takes back an action. sizes: the capacity of its place before and after it."""
    if action.phase is Phase.SHIFT:
        moved = max(float(progress.reached[i]), float(progress.asked[i])) * action.after
        return Action(
            action=name,
            phase=Phase.SHIFT,
            product=action.product,
            region=action.to_region,
            to_region=action.region,
            after=moved,
            estimate_h=action.estimate_h,
            waits_for=waits,
        )
    before, after = sizes
    phase = Phase.UPSIZE if after < before else Phase.DOWNSIZE
    return Action(
        action=name,
        phase=phase,
        service=action.service,
        region=action.region,
        hardware_type=action.hardware_type,
        before=after,
        after=before,
        lead_time_h=action.lead_time_h if phase is Phase.UPSIZE else 0.0,
        estimate_h=action.estimate_h,
        waits_for=waits,
    )


_SHIFT = PHASE_CODE[Phase.SHIFT]
