"""Read and write the replay file: a NumPy archive with one JSON document. Reading it never executes any of its
content.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from libs.assignment.facade.objective import Objective, objective_of
from libs.assignment.facade.solve import solve
from libs.assignment.language.arrays import Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.given import indices_of
from libs.assignment.language.problem import Column, Problem
from libs.assignment.replay.codec import Reader, Writer, expect
from libs.assignment.replay.problem_document import read_problem, write_problem
from libs.assignment.replay.vocabulary import vocabulary_of
from libs.assignment.report.result import Result
from libs.assignment.solvers.caller import Cancelled, Listener
from libs.assignment.solvers.limits import Limits
from libs.assignment.solvers.registry import solver_named

FORMAT, VERSION = "plimsoll assignment replay", 2
FIELDS = ["format", "version", "problem", "solver", "limits", "objective", "start", "seed", "options", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The arguments of a call of `solve`, and its answer.

    objective, options  as in `solve`
    start               (N,) the assignment to begin from; None: the initial one
    answer              (N,) the assignment found, if it was kept
    """

    problem: Problem
    solver: str = "auto"
    limits: Limits | None = None
    objective: Objective | str = Objective.PRIORITIES
    start: Column | None = None
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    answer: Ints | None = None

    def solve(self, *, progress: Listener | None = None, cancelled: Cancelled | None = None) -> Result:
        """Run the call again. If no limit of time is hit, the answer is the same on any machine."""
        return solve(
            self.problem,
            self.limits,
            solver=self.solver,
            objective=self.objective,
            start=self.start,
            seed=self.seed,
            progress=progress,
            cancelled=cancelled,
            **self.options,
        )


def save_replay(path: str | Path, replay: Replay, *, vocabulary: Iterable[type] = ()) -> None:
    """Write the replay as one file.

    vocabulary  the caller's own classes in it: specs, and the types of their fields
    """
    writer = Writer(vocabulary_of(vocabulary))
    document = {
        "format": FORMAT,
        "version": VERSION,
        "problem": write_problem(writer, replay.problem),
        "solver": replay.solver,
        "limits": writer.write("limits", replay.limits),
        "objective": objective_of(replay.objective).value,
        "start": None if replay.start is None else writer.keep(_indices(replay)),
        "seed": replay.seed,
        "options": {name: writer.write(name, value) for name, value in replay.options.items()},
        "answer": None if replay.answer is None else writer.keep(replay.answer),
    }
    solver_named(replay.solver)
    text = np.frombuffer(json.dumps(document, allow_nan=False).encode(), dtype=np.uint8)
    with Path(path).open("wb") as file:
        np.savez_compressed(file, document=text, **writer.arrays)  # type: ignore[arg-type]


def load_replay(path: str | Path, *, vocabulary: Iterable[type] = ()) -> Replay:
    """Read a replay. Refuse unknown names with the nearest known one.

    vocabulary  the caller's own classes, as given to `save_replay`
    """
    known = vocabulary_of(vocabulary)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        document = json.loads(arrays.pop("document").tobytes())
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ModelError(f"{path}: not a replay file: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(f"{path}: not a replay file")
    if document.get("version") != VERSION:
        raise ModelError(f"{path}: version {document.get('version')}; this program reads version {VERSION}")
    expect("replay", document, FIELDS, needed=tuple(FIELDS))
    solver_named(document["solver"])
    reader = Reader(arrays, known)
    return Replay(
        problem=read_problem(reader, document["problem"]),
        solver=document["solver"],
        limits=_limits(reader.read("limits", document["limits"])),
        objective=objective_of(document["objective"]),
        start=None if document["start"] is None else reader.array("start", document["start"]),
        seed=int(document["seed"]),
        options={name: reader.read(name, value) for name, value in document["options"].items()},
        answer=None if document["answer"] is None else reader.array("answer", document["answer"]),
    )


def _indices(replay: Replay) -> Ints:
    problem = replay.problem
    return indices_of("start", replay.start, problem.objects, problem.containers)


def _limits(given: Any) -> Limits | None:
    if given is not None and not isinstance(given, Limits):
        raise ModelError(f"limits: {type(given).__name__} is not Limits")
    return given
