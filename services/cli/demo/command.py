"""`plimsoll demo`: start a platform, run a simulated day on it, and print a summary."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from libs.domain.policy import RegionPolicy
from libs.domain.principal import Role
from libs.domain.region_image import RegionImage
from libs.interchange.region.write import dump_region
from libs.reconcile.clock import ScaledClock, SystemClock
from libs.reconcile.jobs import CYCLES
from libs.simulator.demand import draw_demand
from libs.simulator.failures import draw_failures
from libs.simulator.fleet import made_up_fleet
from libs.simulator.hardware import hardware
from services.cli.client import Client
from services.cli.demo.day import Action, Agenda
from services.cli.demo.people import Allocator, HealthSystem, Owners
from services.cli.demo.summary import Summary, print_summary, read_summary
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, note, plural, print_json, stderr, stdout
from services.standalone.platform import Platform, running_platform
from services.standalone.settings import StandaloneSettings

REGION = "demo"
DAY_S = 86_400.0
HOUR_S = 3600.0
LOAD = 0.5
"""Average share of the region's RRU in requests. In some hours of the day the requests reach all of it."""
POLICY = RegionPolicy(buffer_cost=1.0, spread_cost=0.5, shared_buffer_share=0.02)
"""Costs per RRU. A server of this region is about 5 RRU, so this equals the format's costs per server."""
SIMULATED = {"PLIMSOLL_MOVER_ACTUATOR": "simulated"}
"""A demo never moves real servers, even if its environment names another actuator."""
_SETTLE_S_MAX = 90.0
_SHORT_S_MAX = 4 * HOUR_S
"""Most seconds of the day's clock that a demo waits for solves and moves to fill its reservations."""
_TOLD_S = 10.0
_ASK_AGAIN_S = 600.0


def demo(
    servers: Annotated[int, typer.Option(min=200, max=20_000, help="of the made-up region")] = 2000,
    requests: Annotated[int, typer.Option(min=1, max=5000, help="new reservations asked for in the day")] = 150,
    minutes: Annotated[float, typer.Option(min=0.5, max=1440, help="real time that the day takes")] = 1.75,
    seed: Annotated[int, typer.Option(help="another day")] = 1,
    serve: Annotated[bool, typer.Option("--serve", help="leave the platform running until Ctrl-C")] = False,
    flux: Annotated[bool, typer.Option("--flux", help="close the loop of Flux and RAS over three regions")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a simulated day on a platform of its own: requests, failures, hourly solves and moves, all over REST."""
    if flux:
        if serve:
            raise typer.BadParameter("--serve belongs to the other demo: leave it or --flux out")
        from services.cli.demo.flux.command import demo_flux

        demo_flux(seed=seed, output=output)
        return
    base = StandaloneSettings().state_dir
    base.mkdir(parents=True, exist_ok=True)
    state = Path(tempfile.mkdtemp(prefix="demo-", dir=base))
    settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": state})
    speed = DAY_S / (minutes * 60)
    # The day ends some hours before now, so a platform that keeps serving continues in real time, and never goes back.
    clock = ScaledClock(datetime.now(UTC) - timedelta(hours=36), datetime.now(UTC), speed)
    stderr.print(f"[bold]A day in {minutes:g} minutes[/bold]: starting the platform in {state}", highlight=False)
    tick_s = 0.25 * speed  # on the clock: real time limits how often a tick can run
    cycles = {kind: max(interval_s, tick_s) for kind, interval_s in CYCLES.items()}
    more = SIMULATED | {"PLIMSOLL_SOLVE_S_MAX": str(max(2.0, 0.6 * HOUR_S / speed)), "PLIMSOLL_JOB_TICK_S": "0.25"}
    try:
        _run(settings, clock, cycles, more, servers=servers, requests=requests, seed=seed, serve=serve, output=output)
    except (Exception, SystemExit) as ended:
        if isinstance(ended, SystemExit):  # stopped on request, so the folder is not needed
            shutil.rmtree(state)
        else:
            stderr.print(f"its files and logs are in {state}", highlight=False, soft_wrap=True)
        raise
    shutil.rmtree(state)


def _run(
    settings: StandaloneSettings,
    clock: ScaledClock,
    cycles: Mapping[str, float],
    more: Mapping[str, str],
    *,
    servers: int,
    requests: int,
    seed: int,
    serve: bool,
    output: Output,
) -> None:
    with running_platform(settings, clock=clock, cycles=cycles, more=more, tell=_tell_step) as platform:
        summary = _day(platform, clock, servers=servers, requests=requests, seed=seed)
    _tell(summary, output)
    if not serve:
        note("Next: `plimsoll up` starts a platform that stays; docs/tour.md goes on from there.")
    if summary.troubles:
        raise CliFailure("the day had trouble")
    if serve:
        with running_platform(settings, clock=SystemClock(), pages_port=0, more=SIMULATED) as platform:
            stderr.print(
                f"pages at {platform.pages_url}; log in with the token in {platform.token_file}", highlight=False
            )
            stderr.print(f"serving at {platform.url}; in another terminal:", highlight=False)
            stderr.print(
                f"  export PLIMSOLL_URL={platform.url} PLIMSOLL_TOKEN_FILE={platform.token_file}", soft_wrap=True
            )
            platform.supervisor.run()


def _tell_step(sentence: str) -> None:
    note(f"  {sentence}")


def _day(platform: Platform, clock: ScaledClock, *, servers: int, requests: int, seed: int) -> Summary:
    """Import the region, and run the agenda until the day is over and all has settled."""
    admin = Client(platform.url, platform.token_file.read_text().strip())
    image = made_up_fleet(REGION, servers=servers, seed=seed, policy=POLICY)
    _import(admin, image)
    demand = draw_demand(image, duration_s=DAY_S, requests_per_day=requests, load=LOAD, seed=seed)
    teams = sorted({event.owner for event in demand} | set(image.reservation_owner))
    owners = Owners(_client(platform, admin, "owners", Role.REQUESTER, teams), REGION)
    health = HealthSystem(_client(platform, admin, "health-system", Role.HEALTH), REGION)
    allocator = Allocator(_client(platform, admin, "container-allocator", Role.ALLOCATOR), REGION)
    agenda = Agenda(clock, clock.now())

    def ask_again(action: Action) -> None:
        agenda.at(agenda.now_s() + _ASK_AGAIN_S, action)

    for event in demand:
        agenda.at(event.at_s, lambda event=event: owners.act(event, ask_again))  # type: ignore[misc]
    names = image.snapshot.servers.name
    for failure in draw_failures(image.snapshot.topology, names, duration_s=DAY_S, seed=seed):
        agenda.at(failure.at_s, lambda failure=failure: health.report(failure, agenda.at))  # type: ignore[misc]
    agenda.every(0.5 * HOUR_S, DAY_S, allocator.act)
    agenda.every(2 * HOUR_S, DAY_S, lambda: _hour(admin, agenda, owners, health))
    agenda.run(DAY_S, platform.supervisor.tend)
    _settle(admin, platform, agenda, owners)
    _fill(admin, platform, agenda)
    return read_summary(admin, REGION, refused=owners.refused)


def _import(admin: Client, image: RegionImage) -> None:
    files = {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
    admin.post(f"/v1/regions/{REGION}/import", files=files)
    for figures in hardware():
        attributes = {name: getattr(figures, name) for name in ("release", "vcpu", "memory_gb", "watts", "cpu")}
        generation = admin.get(f"/v1/hardware-types/{figures.name}")["generation"]
        admin.put(f"/v1/hardware-types/{figures.name}", {"attributes": attributes}, generation=generation)
    count = len(image.snapshot.servers)
    topology = image.snapshot.topology
    stderr.print(
        f"{count:,} servers of {len(hardware())} hardware types in {len(topology.msbs)} MSBs of "
        f"{len(topology.datacenters)} datacenters are in",
        highlight=False,
    )


def _client(platform: Platform, admin: Client, name: str, role: Role, owners: Sequence[str] = ()) -> Client:
    secret = admin.post("/v1/tokens", {"name": name, "role": role, "owners": list(owners)})["secret"]
    return Client(platform.url, secret)


def _hour(admin: Client, agenda: Agenda, owners: Owners, health: HealthSystem) -> None:
    region = admin.get(f"/v1/regions/{REGION}/summary")
    total = {name: sum(row[name] for row in region["hardware_types"]) for name in ("bound", "in_use", "to_move")}
    asked, failures = sum(owners.said.values()), sum(health.reported.values())
    stderr.print(
        f"{agenda.now_s() / HOUR_S:4.0f} h: {asked} requests, {region['reservations']} reservations and buffers "
        f"({region['degraded']} to be short), {total['bound']} servers to be bound, {total['in_use']} in use now, "
        f"{total['to_move']} to move, {failures} failures",
        highlight=False,
        soft_wrap=True,
    )


def _settle(admin: Client, platform: Platform, agenda: Agenda, owners: Owners) -> None:
    """Wait until every request is sent and decided, and every running move has ended. The summary reports the rest.

    A busy machine is slow. Give up only after a long time without a decision or an ended move.
    """
    moving = {move["move_id"] for move in admin.items("/v1/moves", status="running", limit=1000)}
    fewest, deadline = math.inf, time.monotonic() + _SETTLE_S_MAX
    told, undecided = time.monotonic(), 0
    while time.monotonic() < deadline:
        agenda.run(agenda.now_s(), platform.supervisor.tend)
        undecided = owners.waiting + sum(
            1
            for phase in ("submitted", "assessing")
            for _ in admin.items("/v1/capacity-requests", phase=phase, limit=1000)
        )
        moving &= {move["move_id"] for move in admin.items("/v1/moves", status="running", limit=1000)}
        left = len(moving) + undecided
        if not left:
            return
        if time.monotonic() > told + _TOLD_S:
            told = time.monotonic()
            note(f"the day is over; waiting for {plural(undecided, 'decision')} and {plural(len(moving), 'move')}")
        if left < fewest:
            fewest, deadline = left, time.monotonic() + _SETTLE_S_MAX
        time.sleep(0.2)
    kept = [f"moves {sorted(moving)} have not ended"] if moving else []
    kept += [f"{plural(undecided, 'request')} undecided"] if undecided else []
    stderr.print(f"[red]trouble:[/red] nothing has changed for {_SETTLE_S_MAX:g} s: {' and '.join(kept)}")


def _fill(admin: Client, platform: Platform, agenda: Agenda) -> None:
    """Wait until every reservation has its servers, but no longer than some solves take."""
    until_s = agenda.now_s() + _SHORT_S_MAX
    note("waiting until the reservations have their servers")
    while agenda.now_s() < until_s:
        agenda.run(agenda.now_s(), platform.supervisor.tend)
        found = admin.items("/v1/reservations", region=REGION, kind="guaranteed", limit=1000)
        if not any(one["status"][plan]["shortfall_rru"] > 0 for one in found for plan in ("target", "current")):
            return
        time.sleep(0.5)


def _tell(summary: Summary, output: Output) -> None:
    if output is Output.JSON:
        print_json(summary.as_dict())
    else:
        print_summary(stdout, summary)
