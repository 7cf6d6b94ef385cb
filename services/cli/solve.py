"""`plimsoll solve`: assign the servers of a region folder, or run a replay bundle again, without a service."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from libs.domain.fleet import FleetSnapshot
from libs.domain.locality import preferring_kinds
from libs.domain.power import ROUNDING_W
from libs.domain.power_use import untold_types
from libs.domain.reservation import ReservationKind
from libs.domain.seed import SEED_MAX
from libs.domain.uplinks import weighs_uplinks
from libs.interchange.bundles.solve import Bundle, load_bundle
from libs.interchange.files.atomic import replacing
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.assignment import save_assignment
from libs.plan_check.check import PlanRefusedError, check_legal, require_clean
from libs.plan_check.regression import check_regression
from libs.ras.bundle_limits import limits_from, with_time
from libs.ras.loss_report import LossReport
from libs.ras.phases.report import PhaseReport
from libs.ras.power_report import PowerReport
from libs.ras.solve import plan_target_bindings
from libs.ras.solve_result import SolveReport, SolveResult
from libs.ras.waves.moves_of_plan import state_of_snapshot
from libs.ras.waves.report import report_waves
from services.cli.durations import seconds_from
from services.cli.failure import EXIT_NOT_POSSIBLE, CliFailure
from services.cli.output import Output, OutputOption, percent, plural, print_json, print_rows, say, stderr
from services.cli.started import elapsed_s
from services.cli.written_files import require_files

PHASES = ("domains", "build", "search", "extraction", "racks", "uplinks", "evaluation")
WRITING = 1.5
"""Expected time of the checks, waves and files after a solve, as a multiple of the time to load the region."""
_TYPES_MAX = 5
"""Most hardware types to name."""
SCORES = {
    "stability": "stability",
    "rack spread": "rack_spread",
    "MSB spread": "msb_spread",
    "buffer": "buffer",
    "surplus": "surplus",
    "balance of power": "power",
    "further domains": "locality",
    "uplinks": "uplinks",
    "shortfall": "short",
    "affinity": "affinity",
    "total": "total",
    "without racks": "total_without_rack",
    "reservations short": "reservations_short",
    "RRU short": "shortfall_rru",
}
"""Heading -> field of a score."""
_APPLIES: dict[str, Callable[[FleetSnapshot], bool]] = {
    "power": lambda region: region.policy.power_balance_cost > 0,
    "locality": lambda region: bool(preferring_kinds(region)),
    "uplinks": weighs_uplinks,
}
"""Field of a score -> whether a region has such a cost. All regions have the others."""


def solve(
    region: Annotated[
        Path, typer.Argument(help="A region folder of the interchange format, or a replay bundle (folder or .zip).")
    ],
    out: Annotated[Path, typer.Option(help="The file for the assignment (Parquet).")] = Path("assignment.parquet"),
    time_limit: Annotated[
        float | None,
        typer.Option(
            parser=seconds_from(0.0),
            metavar="SECONDS",
            help="End by then, loading and writing included, with the best plan so far.",
        ),
    ] = None,
    neighbourhoods: Annotated[
        int | None, typer.Option(min=0, help="Most neighbourhoods to try: a repeatable limit.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=SEED_MAX,
            help="The same input, limits and seed give the same answer unless the time limit is hit.",
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the full report to this file (JSON).")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Assign every server of a region to a reservation.

    Exit status: 0 solved, even if capacity is short (see the report); 1 error; 2 not possible as asked.
    """
    require_files({"--out": out, "--report": report})
    try:
        began = time.perf_counter()
        bundle = load_bundle(region)
        if time_limit is not None:
            writing_s = WRITING * (time.perf_counter() - began)
            time_limit = max(time_limit - elapsed_s() - writing_s, 0.0)
        result = run_bundle(bundle, time_limit=time_limit, neighbourhoods=neighbourhoods, seed=seed)
        snapshot = bundle.region.snapshot
        require_clean(check_legal(snapshot, result.plan))
        # offline the policy's sum counts, even for odd weights
        for loss in check_regression(snapshot, result.plan.target):
            stderr.print(f"[yellow]warning:[/yellow] {loss.message}", soft_wrap=True, highlight=False)
        save_assignment(out, snapshot, result.plan.target)
        document = {
            "region": snapshot.region,
            "servers": len(snapshot.servers),
            "reservations": len(snapshot.reservations),
        }
        kind = bundle.region.reservation_kind
        state = state_of_snapshot(snapshot, snapshot.reservations.id[kind == ReservationKind.SHARED_BUFFER].tolist())
        waves = report_waves(snapshot, result.plan.target, state)
        document |= result.report.as_dict() | {"waves": waves}
        if report is not None:
            with replacing(report) as stream:
                stream.write((json.dumps(document, indent=2) + "\n").encode())
    except PlanRefusedError as error:
        raise CliFailure(str(error), status=EXIT_NOT_POSSIBLE) from error
    except (InterchangeError, OSError) as error:
        raise CliFailure(str(error)) from error
    if output is Output.JSON:
        print_json(document)
    else:
        print_summary(snapshot, result.report, str(waves["message"]), out)


def run_bundle(
    bundle: Bundle, *, time_limit: float | None, neighbourhoods: int | None, seed: int | None
) -> SolveResult:
    """Solve a bundle with its own seed and limits, unless others are given. Show progress on a terminal."""
    limits = limits_from(bundle.limits)
    if time_limit is not None:
        limits = with_time(limits, time_limit)
    if neighbourhoods is not None:
        limits = replace(limits, neighbourhoods_max=neighbourhoods)
    with showing_progress(stderr) as progress:
        return plan_target_bindings(
            bundle.region.snapshot,
            limits,
            seed=bundle.seed if seed is None else seed,
            progress=progress,
            keeps_promises=bundle.is_replay,
        )


@contextmanager
def showing_progress(console: Console) -> Iterator[Callable[[str, float, float, float], None]]:
    """Show a bar over the phases with incumbent, bound and gap on a terminal."""
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<13}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("load", total=len(PHASES), state="")

        def show(phase: str, incumbent: float, bound: float, gap: float) -> None:
            state = f"{incumbent:,.0f} over {bound:,.0f}, gap {gap:.2%}" if math.isfinite(gap) else ""
            bar.update(task, description=phase, completed=PHASES.index(phase), state=state)

        yield show


def print_summary(snapshot: FleetSnapshot, report: SolveReport, waves: str, out: Path) -> None:
    """Print the result for people. `waves` says how the moves can be carried out."""
    servers, reservations = len(snapshot.servers), len(snapshot.reservations)
    say(f"{snapshot.region}: {plural(servers, 'server')}, {plural(reservations, 'reservation')}")
    rows = [
        {"": label, "plan": getattr(report.score, name), "as it is": getattr(report.stay, name)}
        for label, name in SCORES.items()
        if name not in _APPLIES or _APPLIES[name](snapshot)
    ]
    print_rows(rows, {heading: heading for heading in rows[0]})
    say(
        f"moved {report.score.moved_in_use:,} in use and {report.score.moved_idle:,} idle, "
        f"acquired {report.score.acquired:,}; {_bound_in_words(report)}; "
        f"{sum(report.step_s.values()):.1f} s" + (f", stopped by {report.stopped_by}" if report.limit_hit else "")
    )
    for phase in report.phases:
        say(_phase_in_words(phase))
    for loss in report.losses:
        if loss.reservations:
            say(_loss_in_words(loss))
    if report.power is not None and report.power.variance_before is not None:
        say(_power_in_words(report.power))
    if untold := untold_types(snapshot):
        named = ", ".join(untold[:_TYPES_MAX]) + (" and others" if len(untold) > _TYPES_MAX else "")
        say(
            f"{plural(len(untold), 'hardware type')} without watts: {named}. Limits on power count 0 W for such "
            "servers: all servers of a type need the same idle_w and full_w"
        )
    say(waves)
    short = sorted(
        ((s, n) for n, s in zip(report.reservation, report.shortfall_rru, strict=True) if s > 1e-6),
        key=lambda pair: -pair[0],
    )
    for rru, name in short[:10]:
        say(f"  {name} is short of {rru:,.2f} RRU")
    say(f"written to {out}")


def _bound_in_words(report: SolveReport) -> str:
    """Return how much better an answer could be, as a part of a sentence."""
    if report.proven:
        return "no better answer exists (racks not counted)"
    if not math.isfinite(report.gap):
        return "it is not known how much better an answer could be"
    # the gap leaves out the penalties that no plan avoids, so where little else costs it says nothing
    above = f"{report.above_bound:,.0f} of cost" if report.gap > 1 else percent(report.gap)
    within = " in the domains that it chose" if report.chosen_domains else ""
    return f"at most {above} above the best possible{within} (racks not counted)"


def _loss_in_words(loss: LossReport) -> str:
    """Return how many reservations survive the loss of any one domain of a kind, as one sentence."""
    kept = loss.reservations - len(loss.short_rru)
    lacking = f"; the others lack {sum(loss.short_rru.values()):,.2f} RRU" if loss.short_rru else ""
    asked = plural(loss.reservations, "reservation")
    held = f"which {'holds' if loss.reservations == 1 else 'hold'} {loss.buffer_rru:,.2f} RRU for it"
    return f"loss of any one {loss.kind}: survived by {kept:,} of {asked}, {held}{lacking}"


def _power_in_words(power: PowerReport) -> str:
    """Return how power stands over MSBs before and after the plan, as one sentence."""
    fullest = f"{percent(power.fullest_before)} to {percent(power.fullest_after)}"
    variance = f"{power.variance_before:.4g} to {power.variance_after:.4g}"
    limited = sum(one.limit_w is not None for one in power.domains)
    above = [one for one in power.domains if one.allowed_w is not None and one.target_w > one.allowed_w + ROUNDING_W]
    text = f"power: the fullest MSB draws {fullest} of its servers in full, variance over MSBs {variance}"
    if limited:
        text += f"; {len(above):,} of {plural(limited, 'limited domain')} above the limit less headroom"
    return text


def _change(cost: float) -> str:
    """Return a change of a cost with its sign. A change that is rounded to 0 is none."""
    return f"{round(cost, 1) + 0.0:+,.1f}"  # -0.0 + 0.0 is 0.0


def _phase_in_words(phase: PhaseReport) -> str:
    """Return what a later phase gained, as one sentence."""
    text = (
        f"{phase.phase}: {plural(len(phase.reservations), 'reservation')} refined, cost {phase.before:,.1f} to "
        f"{phase.after:,.1f}, other terms {_change(-phase.others)}, moves {_change(phase.moves)} "
        f"({phase.moved_in_use:+,} in use)"
    )
    if phase.bound_gap is not None:
        text += f"; at most {percent(phase.bound_gap)} above the best for them"
    return text + (f"; {phase.waiting:,} more wait" if phase.waiting else "")
