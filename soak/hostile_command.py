"""`soak hostile`: start a platform, attack it, and print a table of its answers, memory and response times.

Exit status: 0 if the bounds hold, 1 if they do not.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import psutil

from libs.reconcile.clock import SystemClock
from services.standalone.platform import Platform, running_platform
from services.standalone.settings import StandaloneSettings
from soak.hostile.attack import Outcome, Target, ask_at_once, name, send_often
from soak.hostile.bombs import BOMBS

RSS_BYTES_MAX = 1536 << 20
ADDRESS_SPACE_BYTES = 2 << 30
HEALTHZ_S_MAX = 1.0
_PROBES = 60
_ALL = "all at once"


def soak_hostile(arguments: list[str]) -> int:
    """Send every bomb, and print the outcomes."""
    parser = argparse.ArgumentParser(prog="soak hostile", description=soak_hostile.__doc__)
    parser.add_argument("--times", type=int, default=20, metavar="N", help="times that each bomb is sent")
    parser.add_argument("--at-once", type=int, default=8, metavar="N", help="bombs sent in parallel")
    parser.add_argument("--bomb", action="append", choices=BOMBS, help="send only this bomb; may be repeated")
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-hostile-"))
    settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": folder, "DATABASE_URL": None})
    complaints: list[str] = []
    with running_platform(settings, clock=SystemClock()) as platform:
        target = Target(
            platform.url, platform.token_file.read_text().strip(), lambda: platform.supervisor.pids().get("api", 0)
        )
        _say("bomb", "sent", "answers", "RSS, MiB", "/healthz, s")
        for outcome in _attacks(platform, target, asked.bomb or list(BOMBS), asked.times, asked.at_once):
            answers = ", ".join(f"{number} × {name(status)}" for status, number in sorted(outcome.answers.items()))
            sent = str(outcome.answers.total())
            _say(outcome.name, sent, answers, f"{outcome.rss_bytes / 2**20:.0f}", f"{outcome.healthz_s:.2f}")
            complaints += outcome.complaints(rss_bytes_max=RSS_BYTES_MAX, healthz_s_max=HEALTHZ_S_MAX)
    for complaint in complaints:
        sys.stdout.write(f"WRONG  {complaint}\n")
    if complaints:
        sys.stdout.write(f"logs   {settings.log_dir}\n")
    else:
        shutil.rmtree(folder)
    return 1 if complaints else 0


def _attacks(platform: Platform, target: Target, names: Sequence[str], times: int, at_once: int) -> Iterator[Outcome]:
    tend, bombs = platform.supervisor.tend, []
    for bomb_name in names:
        bomb = BOMBS[bomb_name]()
        bombs.append(bomb)
        _wait_up(target, tend)
        yield send_often(target, bomb_name, [bomb], times=times, at_once=at_once, tend=tend)
    _wait_up(target, tend)
    yield ask_at_once(target, "/readyz", times=_PROBES * times, at_once=_PROBES)
    yield send_often(target, _ALL, bombs, times=max(1, times // 5), at_once=at_once, tend=tend)


def _wait_up(target: Target, tend: Callable[[], object]) -> None:
    """Wait for the API to answer, even if the last bomb ended it, and then bound its address space."""
    with httpx.Client(base_url=target.url, timeout=60.0, trust_env=False) as http:
        while target.pid() == 0 or http.get("/readyz").status_code != 200:
            tend()
            time.sleep(0.1)
    bound_memory(target.pid())


def bound_memory(pid: int) -> None:
    """Bound the address space of a process, if the system is Linux."""
    if hasattr(psutil.Process, "rlimit"):
        psutil.Process(pid).rlimit(psutil.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))


def _say(*cells: str) -> None:
    bomb, sent, answers, rss, healthz = cells
    sys.stdout.write(f"{bomb:<22}{sent:>6}  {answers:<44}{rss:>10}{healthz:>14}\n")
    sys.stdout.flush()
