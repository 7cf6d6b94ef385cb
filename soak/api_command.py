"""`soak api`: start a platform and send it random requests, drawn from its API document, with one role's token.

Exit status: 0 if every answer follows the document and none is a 5xx, otherwise 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx

from libs.domain.principal import Role
from libs.interchange.region.write import dump_region
from libs.reconcile.clock import SystemClock
from libs.simulator.fleet import made_up_fleet
from services.standalone.platform import Platform, running_platform
from services.standalone.settings import StandaloneSettings

_ENVIRONMENT = {"PLIMSOLL_RATE_PER_S": "100000", "PLIMSOLL_RATE_BURST": "1000000", "PLIMSOLL_SOLVE_S_MAX": "3"}
_EXAMPLES, _UPLOADS = 15, 20
"""Number of cases and of uploads for an operation, before the next operation."""
_TIMEOUT_S = 60.0


def soak_api(arguments: list[str]) -> int:
    """Draw requests, send them, and print the wrong answers."""
    parser = argparse.ArgumentParser(prog="soak api", description=soak_api.__doc__)
    parser.add_argument("--role", type=Role, choices=list(Role), default=Role.ADMIN, metavar="|".join(Role))
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0, help="seed of uploads and of the order of operations")
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-api-"))
    settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": folder, "DATABASE_URL": None})
    with running_platform(settings, clock=SystemClock(), more=_ENVIRONMENT) as platform:
        wrong = _fuzz(platform, asked.role, asked.minutes * 60.0, asked.seed)
    for message, times in wrong.most_common():
        sys.stdout.write(f"WRONG  {times} times: {message}\n")
    if wrong:
        sys.stdout.write(f"logs   {settings.log_dir}\n")
        return 1
    shutil.rmtree(folder)
    return 0


def _fuzz(platform: Platform, role: Role, for_s: float, seed: int) -> Counter[str]:
    # Imported here: only this command needs them, and they take seconds to load.
    import schemathesis
    from schemathesis.core.failures import FailureGroup
    from schemathesis.core.result import Ok

    from soak.fuzz.cases import Fuzz
    from soak.fuzz.seeds import OWNER, REGION, Seeds

    wrong: Counter[str] = Counter()
    with ExitStack() as stack:
        maker = stack.enter_context(_client(platform.url, platform.token_file.read_text().strip()))
        _import_region(maker, REGION)
        body = {"name": f"fuzz-{role}", "role": role, "owners": [OWNER] if role is Role.REQUESTER else []}
        caller = maker
        if role is not Role.ADMIN:
            caller = stack.enter_context(_client(platform.url, _made(maker.post("/v1/tokens", json=body))))
        schema = schemathesis.openapi.from_url(f"{platform.url}/openapi.json")
        operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
        fuzz = Fuzz(maker, [caller], Seeds(maker), seed=seed, wait=platform.supervisor.tend)
        draw, until, rounds = random.Random(seed), time.monotonic() + for_s, 0
        while time.monotonic() < until:
            for operation in draw.sample(operations, len(operations)):
                if time.monotonic() > until:
                    break
                _count(wrong, FailureGroup, lambda: fuzz.every_case(operation, _EXAMPLES, fresh=True))  # noqa: B023
                _count(wrong, FailureGroup, lambda: fuzz.upload(operation, _UPLOADS))  # noqa: B023
            rounds += 1
            _say(role, rounds, fuzz.sent, fuzz.answers, wrong)
    return wrong


def _count(wrong: Counter[str], failure: type[BaseException], run: Callable[[], None]) -> None:
    try:
        run()
    except failure as found:
        for one in found.exceptions:  # type: ignore[attr-defined]
            wrong[f"{one.operation}: {one.title}: {' '.join(one.message.split())[:600]}"] += 1


def _say(role: Role, rounds: int, sent: int, answers: Counter[int], wrong: Counter[str]) -> None:
    told = ", ".join(f"{number:,} x {status}" for status, number in sorted(answers.items()))
    sys.stdout.write(f"{role}, round {rounds}: {sent:,} requests ({told}); {len(wrong)} kinds of wrong answers\n")
    sys.stdout.flush()


def _client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT_S, trust_env=False)


def _made(answer: httpx.Response) -> str:
    answer.raise_for_status()
    return str(answer.json()["secret"])


def _import_region(maker: httpx.Client, region: str) -> None:
    files = dump_region(made_up_fleet(region, servers=240, seed=1))
    parts = {name.partition(".")[0]: (name, content) for name, content in files.items()}
    maker.post(f"/v1/regions/{region}/import", files=parts).raise_for_status()
