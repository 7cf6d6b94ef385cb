"""Start a platform and the systems around it, go round the loop of Flux and RAS, and tell what happened."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from libs.domain.principal import Role
from libs.reconcile.clock import ScaledClock
from libs.reconcile.jobs import CYCLES, SCHEDULE_PLAN, SOLVE, WORLD_CYCLES
from services.cli.client import Client
from services.cli.demo.flux.loop import Loop
from services.cli.demo.flux.outside import serving
from services.cli.demo.flux.people import Operators
from services.cli.demo.flux.record import prove
from services.cli.demo.flux.summary import Figures, figures_of, print_figures
from services.cli.demo.flux.traffic import TrafficSystem
from services.cli.demo.flux.troubles import Troubles, environment, outside_of
from services.cli.demo.flux.world import OWNER, new_shop
from services.cli.failure import CliFailure
from services.cli.output import Output, note, print_json, stderr, stdout
from services.standalone.platform import running_platform
from services.standalone.settings import StandaloneSettings

DAY_S = 86_400.0
DAY_REAL_S = 60.0
"""Real seconds of a simulated day."""
_FIRST_HOUR = 12
"""Hour of the first day at which the platform starts. The regions are set up until midnight, or longer."""
_TICK_S = 0.25
_SOLVE_S = 2 * 3600.0


def demo_flux(*, seed: int, output: Output) -> None:
    """Run the loop, and print its figures. Raises CliFailure if a service lacked capacity at any moment."""
    base = StandaloneSettings().state_dir
    base.mkdir(parents=True, exist_ok=True)
    state = Path(tempfile.mkdtemp(prefix="demo-flux-", dir=base))
    note(f"Two days of a shop in three regions: starting the platform in {state}")
    try:
        with _started(state, seed) as loop:
            loop.run()
            figures = figures_of(loop, prove(loop.record(), loop.models))
        _tell(figures, output)
    except (Exception, SystemExit) as ended:
        if isinstance(ended, SystemExit):  # stopped on request, so the folder is not needed
            shutil.rmtree(state)
        else:
            stderr.print(f"its files and logs are in {state}", highlight=False, soft_wrap=True)
        raise
    shutil.rmtree(state)


@contextmanager
def _started(state: Path, seed: int) -> Iterator[Loop]:
    speed = DAY_S / DAY_REAL_S
    begins = (datetime.now(UTC) - timedelta(days=30)).replace(hour=0, minute=0, second=0, microsecond=0)
    clock = ScaledClock(begins + timedelta(hours=_FIRST_HOUR), datetime.now(UTC), speed)
    tick_s = _TICK_S * speed
    cycles = {kind: max(every_s, tick_s) for kind, every_s in CYCLES.items()} | {SOLVE: _SOLVE_S}
    # The demo asks for its plans itself.
    world = {kind: max(every_s, tick_s) for kind, every_s in WORLD_CYCLES.items()} | {SCHEDULE_PLAN: 365 * DAY_S}
    traffic = TrafficSystem(new_shop(seed), clock, begins)
    troubles = Troubles(clock=clock, traffic=traffic)
    token_file = state / "flux-token"
    with serving(outside_of(troubles)) as outside:
        more = environment(outside, state, token_file) | {
            "PLIMSOLL_MOVER_ACTUATOR": "simulated",
            "PLIMSOLL_SOLVE_S_MAX": "3",
            "PLIMSOLL_JOB_TICK_S": str(_TICK_S),
        }
        settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": state})
        with running_platform(
            settings, clock=clock, cycles=cycles, world_cycles=world, more=more, tell=lambda said: note(f"  {said}")
        ) as platform:
            outside.portals.url = platform.url
            admin = Client(platform.url, platform.token_file.read_text().strip())
            token_file.touch(mode=0o600)
            token_file.write_text(_token(admin, "flux", Role.REQUESTER, OWNER))
            traffic.reader = admin
            yield Loop(
                platform=platform,
                clock=clock,
                admin=admin,
                telemetry=Client(platform.url, _token(admin, "tracing", Role.TELEMETRY)),
                operators=Operators(admin, clock),
                traffic=traffic,
                troubles=troubles,
            )


def _token(admin: Client, name: str, role: Role, *owners: str) -> str:
    secret: str = admin.post("/v1/tokens", {"name": name, "role": role, "owners": list(owners)})["secret"]
    return secret


def _tell(figures: Figures, output: Output) -> None:
    if output is Output.JSON:
        print_json(figures.as_dict())
    else:
        print_figures(stdout, figures)
    if figures.troubles:
        raise CliFailure("the loop had trouble")
