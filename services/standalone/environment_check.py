"""Check the environment of all processes of the platform before the first of them starts.

Each process checks its own part when it starts. Standalone starts a dead process again, so it must know earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from libs.jobs.settings import MessageSettings
from libs.reconcile.environment import given_environment, wrong_in_one_line
from libs.web.settings import ApiSettings, DecodingSettings, IdentitySettings
from services.mover.settings import read_job_settings as read_mover
from services.orchestrator.settings import read_job_settings as read_orchestrator
from services.pages.settings import PagesSettings
from services.planner.settings import read_cycle_settings, read_plan_settings
from services.portal.settings import read_job_settings as read_portal
from services.solver.settings import read_job_settings as read_solver

_READ: Sequence[Callable[[], object]] = (
    ApiSettings.from_environment,
    IdentitySettings.from_environment,
    DecodingSettings.from_environment,
    PagesSettings.from_environment,
    MessageSettings.from_environment,
    read_portal,
    read_solver,
    read_mover,
    read_cycle_settings,
    read_plan_settings,
    read_orchestrator,
)


def check_environment(environment: Mapping[str, str]) -> None:
    """Read all settings of the API, the pages, the workers and the scheduler from `environment`.

    Raises SystemExit with one line that names each variable that is missing or wrong. Call it before threads start.
    """
    with given_environment(environment):
        for read in _READ:
            wrong_in_one_line(read)
