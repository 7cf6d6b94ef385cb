"""Check the complaints about a bomb's outcome, and run some bombs once on a platform."""

import math
from collections import Counter

from libs.reconcile.clock import SystemClock
from services.standalone.platform import running_platform
from services.standalone.settings import StandaloneSettings
from soak.hostile.attack import NO_ANSWER, Outcome, Target, send_often
from soak.hostile.bombs import BOMBS, BUSY
from soak.hostile_command import RSS_BYTES_MAX, bound_memory

LIVE = (
    "otlp json fits",
    "otlp protobuf fits",
    "otlp resources",
    "otlp attributes",
    "usage false footer",
    "inputs json",
    "inputs commas",
)


def said(answers: dict[int, int], **more: object) -> list[str]:
    outcome = Outcome("x", frozenset({413}), Counter(answers), **more)  # type: ignore[arg-type]
    return outcome.complaints(rss_bytes_max=100 << 20, healthz_s_max=1.0)


def test_what_is_wrong_is_said() -> None:
    assert said({413: 3, BUSY: 2}) == []
    assert said({413: 3, 500: 1}) == ["x: 500 1 times"]
    assert said({413: 3, 200: 1}) == ["x: 200 1 times"]
    assert said({413: 3, NO_ANSWER: 1}) == ["x: no answer 1 times"]
    assert said({BUSY: 9}) == ["x: every answer was 429, so it was never read"]
    assert said({413: 1}, died=True) == ["x: the API's process ended"]
    assert said({413: 1}, rss_bytes=200 << 20) == ["x: the API took 200 MiB"]
    assert said({413: 1}, healthz_s=1.5) == ["x: /healthz took 1.50 s"]


def test_some_bombs_once(tmp_path):
    """`./scripts/soak hostile` sends all of them twenty times, and also measures /healthz."""
    settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": tmp_path, "DATABASE_URL": None})
    complaints = []
    with running_platform(settings, clock=SystemClock()) as platform:
        pids = platform.supervisor.pids
        before = dict(pids())
        target = Target(platform.url, platform.token_file.read_text().strip(), lambda: pids().get("api", 0))
        bound_memory(target.pid())
        for name in LIVE:
            outcome = send_often(target, name, [BOMBS[name]()], times=1, at_once=1, tend=platform.supervisor.tend)
            complaints += outcome.complaints(rss_bytes_max=RSS_BYTES_MAX, healthz_s_max=math.inf)
        assert pids() == before
    assert complaints == []
