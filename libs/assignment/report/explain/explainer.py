"""Answer questions about one assignment: the effect of a move, and the reasons for an object's container."""

from __future__ import annotations

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.incremental.delta import try_moves
from libs.assignment.incremental.program import program_of
from libs.assignment.language.given import indices_of
from libs.assignment.language.problem import Column, Problem
from libs.assignment.report.explain.change import TermChange, changes, dearest, verdict
from libs.assignment.report.explain.containers_of import Reason, Whereabouts
from libs.assignment.report.explain.move import MoveExplained
from libs.assignment.report.explain.terms import Terms

Name = str | int


class Explainer:
    """An explainer of one assignment. It uses the same increments and rules as a local search.

    assignment  (N,) the container of each object, by name or index; None: as at the start
    """

    def __init__(self, problem: Problem, assignment: Column | None = None) -> None:
        given = problem.initial if assignment is None else assignment
        self.problem = problem
        self.assignment = indices_of("assignment", given, problem.objects, problem.containers)
        compiled = Compiled.of(problem)
        self._terms = Terms(compiled)
        self._state = self._terms.state(self.assignment)
        self._program = program_of(compiled)
        self._strict = self._program.state(self.assignment)
        self._now = self._terms.values(self.assignment)

    def move(self, object_: Name, container: Name) -> MoveExplained:
        """Return the change of every constraint and goal if the object `object_` moved to the container `container`."""
        o = self.problem.objects.index("object", object_)
        return self._move(o, self.problem.containers.index("container", container), every=True)

    def unplaced(self, object_: Name) -> Whereabouts:
        """Explain why the object `object_` is in its container, by the reasons against every other container.

        Its container may be a container that stands for "unplaced".
        """
        o = self.problem.objects.index("object", object_)
        forbidden: dict[str, list[tuple[float, int]]] = {}
        dearer: dict[str, list[tuple[float, int]]] = {}
        same: list[int] = []
        better: list[int] = []
        for c in range(len(self.problem.containers)):
            if c == self.assignment[o]:
                continue
            asked = self._move(o, c, every=False)
            if not asked.allowed:
                by, name = max(zip(asked.over_by, asked.forbidden_by, strict=True), key=lambda one: one[0])
                forbidden.setdefault(name, []).append((by, c))
            elif asked.verdict > 0:
                most = dearest(asked.changes)
                dearer.setdefault(most.term.name, []).append((most.counts, c))
            else:
                (better if asked.verdict < 0 else same).append(c)
        return Whereabouts(
            object=self.problem.objects.name(o),
            container=self.problem.containers.name(int(self.assignment[o])),
            others=len(self.problem.containers) - 1,
            forbidden=self._reasons(forbidden),
            dearer=self._reasons(dearer),
            same=tuple(self.problem.containers.name(c) for c in same),
            better=tuple(self.problem.containers.name(c) for c in better),
        )

    def _move(self, o: int, c: int, *, every: bool) -> MoveExplained:
        who, to = np.array([o]), np.array([c])
        stays = c == self.assignment[o]
        after = self._now if stays else self._now + self._terms.change(self._state, who, to)
        found = changes(self._terms.all, self._now, after, self._terms.reached)
        allowed = stays or bool(try_moves(self._program.tables, self._strict, who, to, False))
        forbidding = () if allowed else self._forbidding(o, c, found, every)
        return MoveExplained(
            object=self.problem.objects.name(o),
            source=self.problem.containers.name(int(self.assignment[o])),
            target=self.problem.containers.name(c),
            changes=found,
            forbidden_by=tuple(name for name, _ in forbidding),
            over_by=tuple(by for _, by in forbidding),
            verdict=verdict(found),
        )

    def _forbidding(self, o: int, c: int, found: tuple[TermChange, ...], every: bool) -> tuple[tuple[str, float], ...]:
        """Return the hard constraints that forbid the move of object `o` to container `c`, by name, and by how much.

        A hard constraint forbids the move if an element of its excess grows. Without `every`, return only
        constraints with a growing total excess, if there are any.

        found  the change of each term by the move
        """
        grown = {k: one.change for k, one in enumerate(found) if one.term.hard and one.changed and one.change > 0}
        if every or not grown:
            after = self.assignment.copy()
            after[o] = c
            elements = self._terms.growing(self.assignment, after)
            grown = {k: grown.get(k, by) for k, by in elements.items()}
        return tuple((self._terms.all[k].name, by) for k, by in grown.items())

    def _reasons(self, found: dict[str, list[tuple[float, int]]]) -> tuple[Reason, ...]:
        """Return a Reason for each spec in `found`, the spec with the most containers first.

        found  name of a spec -> its growth in each container that it speaks against, and the container
        """
        reasons = []
        for name, cases in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
            by, container = min(cases)
            least = self.problem.containers.name(container)
            reasons.append(Reason(name=name, containers=len(cases), least=by, least_in=least))
        return tuple(reasons)
