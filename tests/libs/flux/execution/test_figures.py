"""The figures of an execution count what was done, and not what was planned."""

import numpy as np
import pytest

from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import ActionState, Verb
from libs.flux.execution.figures import figures_document, figures_of, resize_quartiles_h, service_figures_of
from tests.builders.execution import Execution, two_products


def planned(run: Execution, phase: Phase) -> float:
    return sum(abs(a.after - a.before) for a in run.graph.actions if a.phase is phase)


def test_an_execution_that_ends_has_carried_out_its_plan_alone():
    run = Execution(two_products())
    nothing = figures_of(run.graph, run.progress)
    assert (nothing.upsized, nothing.downsized, nothing.shifted, nothing.automated) == (0, 0, 0, None)
    run.command(Verb.START)
    run.run()
    found = figures_of(run.graph, run.progress)
    assert found.upsize == found.upsized == pytest.approx(planned(run, Phase.UPSIZE))
    assert found.downsize == found.downsized == pytest.approx(planned(run, Phase.DOWNSIZE))
    assert found.shift == found.shifted == pytest.approx(planned(run, Phase.SHIFT))
    assert found.automated == 1.0


def test_a_skipped_downsize_is_planned_and_not_executed_and_a_person_counts():
    run = Execution(two_products())
    run.command(Verb.START)
    skipped = next(a for a in run.graph.actions if a.phase is Phase.DOWNSIZE)
    run.command(Verb.SKIP, skipped.action)
    taken = next(a for a in run.graph.actions if a.phase is Phase.UPSIZE)
    run.command(Verb.TAKE_OVER, taken.action)
    run.command(Verb.COMPLETE, taken.action)
    run.run()
    found = figures_of(run.graph, run.progress)
    assert found.downsize - found.downsized == pytest.approx(skipped.before - skipped.after)
    finished = [a for a in run.graph.actions if run.of(a.action).state is ActionState.DONE and a.phase != Phase.SETTLED]
    assert found.automated == pytest.approx(1 - 1 / len(finished))


def test_the_sizing_error_of_a_service_is_what_it_has_beyond_and_short_of_the_plan():
    run = Execution(two_products())
    run.command(Verb.START)
    grown, kept = (next(a for a in run.graph.actions if a.phase is p) for p in (Phase.UPSIZE, Phase.DOWNSIZE))
    run.command(Verb.EDIT, grown.action, size=grown.after - 1)
    run.command(Verb.SKIP, kept.action)
    run.run()
    found = service_figures_of(run.graph, run.progress)
    assert found[str(grown.service)].below == pytest.approx(1.0)
    assert found[str(kept.service)].above == pytest.approx(kept.before - kept.after)
    total = figures_of(run.graph, run.progress)
    assert sum(one.planned for one in found.values()) == pytest.approx(total.upsize + total.downsize)
    assert sum(one.executed for one in found.values()) == pytest.approx(total.upsized + total.downsized)
    assert found[str(grown.service)].automated < 1  # a person edited it


def test_times_are_those_of_resizes_that_ended():
    run = Execution(two_products())
    seconds = np.full(len(run.graph.actions), 3600.0)
    assert resize_quartiles_h(run.graph, run.progress, seconds) is None
    run.command(Verb.START)
    run.run()
    first = next(i for i, a in enumerate(run.graph.actions) if a.phase is Phase.UPSIZE)
    seconds[first] = 7200.0
    assert resize_quartiles_h(run.graph, run.progress, seconds)[::2] == [1.0, 1.0, 2.0]
    seconds[:] = np.nan
    assert figures_document(run.graph, run.progress, seconds)["resize_h"] is None
