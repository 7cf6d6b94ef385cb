"""A subproblem travels whole, its answer is that of the sender, and damaged bytes are refused."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from libs.assignment import Answer, CountSearch, Subproblem, solve_subproblem
from libs.interchange.job_parts import framing
from libs.interchange.job_parts.framing import NotReadable, pack, unpack
from libs.interchange.job_parts.subproblem import read_answer, read_subproblem, write_answer, write_subproblem
from libs.mip.highs import Basis
from libs.mip.model import Mip, Model


def knapsack(seed: int) -> Model:
    rng, mip = np.random.default_rng(seed), Mip()
    columns = mip.add_columns(12, cost=-rng.uniform(1, 9, 12), upper=3.0, integer=True)
    mip.add_rows(2, (np.repeat([0, 1], 12), np.tile(columns, 2), rng.uniform(1, 5, 24)), upper=[20.0, 25.0])
    return mip.build()


def relaxation(seed: int) -> Subproblem:
    return Subproblem(model=knapsack(seed), until=math.inf)


def next_prices(seed: int) -> Subproblem:
    """Return a relaxation whose costs have changed since the last one, which gives its basis."""
    last = relaxation(seed)
    changed = replace(last.model, cost=last.model.cost * np.linspace(0.5, 2.0, 12))
    return replace(last, model=changed, basis=solve_subproblem(last).basis)


def search(seed: int) -> Subproblem:
    start = CountSearch(start=np.zeros(12), counts=12, loose=np.array([1]), nodes_max=50, absolute_gap=1e-6, seed=3)
    return Subproblem(model=knapsack(seed), until=time.perf_counter() + 600.0, search=start)


def bound(seed: int) -> Subproblem:
    return replace(search(seed), bounds=True)


def bound_and_point(seed: int) -> Subproblem:
    return replace(bound(seed), points=True)


def statuses_of(basis: Basis | None) -> tuple[list[int], list[int]] | None:
    return None if basis is None else tuple(one.tolist() for one in basis.statuses)


@pytest.mark.parametrize(
    ("make", "has_point", "has_bound"),
    [
        (relaxation, True, False),
        (next_prices, True, False),
        (search, True, False),
        (bound, False, True),
        (bound_and_point, True, True),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_elsewhere_is_the_answer_here(
    make: Callable[[int], Subproblem], has_point: bool, has_bound: bool, seed: int
) -> None:
    asked = make(seed)
    here, read = solve_subproblem(asked), read_subproblem(write_subproblem(asked))
    there = read_answer(write_answer(solve_subproblem(read)), asked)
    assert (here.x is not None) == (there.x is not None) == has_point
    if here.x is not None:
        assert np.array_equal(here.x, there.x)
    assert here.bound == there.bound
    assert np.isfinite(here.bound) == has_bound
    assert (here.gained, here.optimal, here.timed_out) == (there.gained, there.optimal, there.timed_out)
    assert (here.price is None) == (there.price is None)
    if here.price is not None:
        assert np.array_equal(here.price, there.price)
    assert statuses_of(here.basis) == statuses_of(there.basis)
    assert statuses_of(read.basis) == statuses_of(asked.basis)


def test_what_is_left_of_the_time_travels() -> None:
    assert read_subproblem(write_subproblem(relaxation(1))).until == math.inf
    late = replace(search(1), until=time.perf_counter() - 1.0)
    assert solve_subproblem(read_subproblem(write_subproblem(late))).timed_out


def test_no_answer_is_an_answer() -> None:
    nothing = read_answer(write_answer(Answer(x=None)), relaxation(1))
    assert (nothing.x, nothing.price, nothing.gained, nothing.bound) == (None, None, 0.0, -math.inf)


def changed(content: bytes, change: Callable[[dict], object]) -> bytes:
    line, _, rest = content.partition(b"\n")
    header = json.loads(line)
    change(header)
    return json.dumps(header).encode() + b"\n" + rest


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda header: header.update(version="0.0.0"), "of version 0.0.0"),
        (lambda header: header.update(form="other"), "it is other"),
        (lambda header: header.pop("numbers"), "no header"),
        (lambda header: header["arrays"].pop("loose"), "expected basis_columns"),
        (lambda header: header["arrays"]["cost"].__setitem__(0, "|O"), "it has the arrays"),
        (lambda header: header["arrays"]["cost"].__setitem__(1, 1 << 60), "bytes; expected"),
        (lambda header: header["arrays"]["cost"].__setitem__(1, -1), "bytes; expected"),
        (lambda header: header["numbers"].update(counts=99), "its start"),
        (lambda header: header["numbers"].pop("seed"), "seed"),
    ],
)
def test_a_damaged_header_is_refused(change: Callable[[dict], object], why: str) -> None:
    with pytest.raises(NotReadable, match=why):
        read_subproblem(changed(write_subproblem(search(1)), change))


@pytest.mark.parametrize("content", [b"", b"\x80\x04K\x01.", b"[1]\n", b"x" * (1 << 17), b'{"form": "solve-part"}\n'])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(NotReadable):
        read_subproblem(content)


def test_bytes_cut_short_are_refused() -> None:
    with pytest.raises(NotReadable, match="bytes"):
        read_subproblem(write_subproblem(search(1))[:-1])


def test_more_bytes_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "BYTES_MAX", 10)
    with pytest.raises(NotReadable, match="at most"):
        unpack(pack("form", {}, {}), "form", {})


@pytest.mark.parametrize(
    ("name", "value"),
    [("indices", 2), ("indices", -1), ("indptr", 1000), ("loose", 2), ("loose", -1)],
)
def test_an_index_outside_the_model_is_refused(name: str, value: int) -> None:
    """The solver would read memory that is not the model's."""
    content = write_subproblem(search(1))
    header = json.loads(content.partition(b"\n")[0])
    at = content.index(b"\n") + 1
    for other, (kind, length) in header["arrays"].items():
        if other == name:
            break
        at += np.dtype(kind).itemsize * length
    broken = content[:at] + np.array([value], "<i8").tobytes() + content[at + 8 :]
    with pytest.raises(NotReadable, match="it is no subproblem"):
        read_subproblem(broken)


@pytest.mark.parametrize(
    "answer",
    [Answer(x=np.zeros(11)), Answer(x=np.zeros(12), price=np.zeros(3)), Answer(x=np.full(12, np.nan))],
)
def test_an_answer_to_something_else_is_refused(answer: Answer) -> None:
    with pytest.raises(NotReadable, match="does not fit"):
        read_answer(write_answer(answer), relaxation(1))


def with_basis(content: bytes, columns: list[int], rows: list[int]) -> bytes:
    """Return the content with other statuses in its basis, which comes last."""
    at = len(content) - 12 - 2

    def resized(header: dict) -> None:
        header["arrays"]["basis_columns"][1], header["arrays"]["basis_rows"][1] = len(columns), len(rows)

    return changed(content[:at], resized) + np.array([*columns, *rows], np.int8).tobytes()


@pytest.mark.parametrize(
    ("columns", "rows"),
    [([0] * 12, [1, 9]), ([0] * 12, [0, 1]), ([1] * 12, [1, 1]), ([0] * 11, [1, 1]), ([0] * 12, [1])],
    ids=["no status", "too few basic", "too many basic", "too few columns", "too few rows"],
)
def test_a_basis_that_does_not_fit_is_refused(columns: list[int], rows: list[int]) -> None:
    asked = next_prices(1)
    content, answer = write_subproblem(asked), write_answer(solve_subproblem(asked))
    assert read_subproblem(with_basis(content, [0] * 12, [1, 1])).basis is not None
    with pytest.raises(NotReadable, match="it is no subproblem"):
        read_subproblem(with_basis(content, columns, rows))
    with pytest.raises(NotReadable, match="it is no answer"):
        read_answer(with_basis(answer, columns, rows), asked)
