"""`plimsoll up` refuses a wrong environment before anything starts, whichever process would read it."""

import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from annotated_types import Ge, Gt, Le

import libs
import services
from libs.reconcile.environment import Settings
from services.standalone.environment_check import check_environment

SECRET = "a secret of a test"
ELSEWHERE = {"ConnectionSettings", "ListenSettings", "LoginSettings", "SetUpSettings", "XdgSettings"}
"""Settings that no process of `up` reads. `up` itself reads StandaloneSettings at its first line."""
SIMULATED = {
    "DATABASE_URL": "postgresql://127.0.0.1/any",
    "PLIMSOLL_BROKER_DIR": "queue",
    "PLIMSOLL_BUNDLE_DIR": "bundles",
    "PLIMSOLL_MOVER_ACTUATOR": "simulated",
    "PLIMSOLL_RESIZE_CARRIER": "simulated",
    "PLIMSOLL_SHIFT_CARRIER": "simulated",
}
REAL = {
    **SIMULATED,
    "PLIMSOLL_MOVER_ACTUATOR": "webhook",
    "PLIMSOLL_SHIFT_CARRIER": "webhook",
    "PLIMSOLL_REPLICAS_SERVICES": '["db"]',
    "PLIMSOLL_WEBHOOK_SECRET": SECRET,
    "PLIMSOLL_TRAFFIC_SECRET": SECRET,
    "PLIMSOLL_REPLICAS_SECRET": SECRET,
    "PLIMSOLL_LOAD_TEST_SECRET": SECRET,
    **{
        f"PLIMSOLL_{name}_URL": "http://127.0.0.1:9"
        for name in ("WEBHOOK", "TRAFFIC", "REPLICAS", "LOAD_TEST", "GATE_PROMETHEUS", "PROMETHEUS")
    },
}


def wrong_values(field):
    """Return values that a setting cannot have: not a number, and beyond each of its bounds."""
    texts = [str(field.annotation)]
    if not any(kind in texts[0] for kind in ("int", "float", "bool", "Literal", "Weekday", "datetime")):
        return []
    bounds = [("-1e9", Ge | Gt), ("1e30", Le)]
    return ["nonsense", *(value for value, kind in bounds if any(isinstance(one, kind) for one in field.metadata))]


def settings_of(kind):
    return [kind, *(below for one in kind.__subclasses__() for below in settings_of(one))]


def wrong_environments():
    for package in (libs, services):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            path = Path(module.module_finder.path, f"{module.name.rpartition('.')[2]}.py")
            if path.is_file() and "Settings):" in path.read_text():
                import_module(module.name)
    kinds = {one for one in settings_of(Settings) if one.__module__.startswith(("libs.", "services."))}
    fields = {
        str(field.validation_alias): field
        for kind in kinds
        if kind.__name__ not in {*ELSEWHERE, "StandaloneSettings", "Settings"}
        for field in kind.model_fields.values()
    }
    return [(name, value) for name, field in sorted(fields.items()) for value in wrong_values(field)]


def test_the_usual_environments_are_taken(monkeypatch):
    before = dict(os.environ)
    for environment in (SIMULATED, REAL):
        check_environment(environment)
    assert dict(os.environ) == before


@pytest.mark.parametrize(("name", "value"), wrong_environments())
def test_a_wrong_setting_is_named(name, value):
    base = SIMULATED if "SIMULATED" in name else REAL
    with pytest.raises(SystemExit) as left:
        check_environment({**base, name: value})
    assert str(left.value).startswith("plimsoll: the environment is wrong: ")
    assert name in str(left.value)
    assert "\n" not in str(left.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLIMSOLL_BROKER_URL", "nonsense"),
        ("PLIMSOLL_JOB_CYCLES", '{"solve": 1e300}'),
        ("PLIMSOLL_LOG_LEVEL", "loud"),
        ("PLIMSOLL_MOVER_ACTUATOR", "hope"),
        ("PLIMSOLL_SOLVE_S_MAX", "3600"),
        ("PLIMSOLL_PORTALS", "/nowhere"),
        ("PLIMSOLL_TRAFFIC_SECRET", "short"),
        ("PLIMSOLL_TRAFFIC_URL", "ftp://elsewhere"),
    ],
)
def test_what_is_wrong_beyond_its_type_is_named_too(name, value):
    base = {**REAL, "PLIMSOLL_JOB_S_MAX": "3000", "PLIMSOLL_PLAN_SOLVE_S_MAX": "60", "PLIMSOLL_SOLVE_S_MAX": "60"}
    with pytest.raises(SystemExit) as left:
        check_environment({**base, name: value})
    assert name in str(left.value)
    assert "\n" not in str(left.value)


@pytest.mark.parametrize("name", ["PLIMSOLL_HISTORY_KEPT_DAYS", "PLIMSOLL_SOLVER_SLOTS"])
def test_up_starts_nothing_in_a_wrong_environment(tmp_path, name):
    env = {**os.environ, "PLIMSOLL_STATE_DIR": str(tmp_path / "state"), name: "-1"}
    command = [sys.executable, "-m", "services.cli.main", "up"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert f"plimsoll: the environment is wrong: {name} is wrong: must be" in ended.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("start", "env", "said"),
    [
        (
            "services.portal.main import work",
            {"PLIMSOLL_BROKER_DIR": ""},
            "neither of PLIMSOLL_BROKER_URL and PLIMSOLL_BROKER_DIR is set: name a Redis",
        ),
        (
            "services.scheduler.main import work",
            {"PLIMSOLL_BROKER_URL": "redis://127.0.0.1"},
            "both of PLIMSOLL_BROKER_URL and PLIMSOLL_BROKER_DIR are set: name a Redis",
        ),
        (
            "services.orchestrator.main import work",
            {"PLIMSOLL_TRAFFIC_SECRET": "short"},
            "PLIMSOLL_TRAFFIC_SECRET is wrong",
        ),
        ("services.planner.main import serve", {"PLIMSOLL_SERIES_MAX": "many"}, "PLIMSOLL_SERIES_MAX is wrong"),
        ("services.mover.main import serve", {"PLIMSOLL_MOVES_MAX": "many"}, "PLIMSOLL_MOVES_MAX is wrong"),
        ("services.portal.main import serve", {"PLIMSOLL_LOG_LEVEL": "loud"}, "PLIMSOLL_LOG_LEVEL is wrong"),
    ],
)
def test_a_process_of_its_own_says_in_one_line_what_is_wrong(start, env, said):
    name = start.rpartition(" ")[2]
    command = [sys.executable, "-c", f"from {start}; {name}()"]
    given = {key: value for key, value in {**os.environ, **REAL, **env}.items() if value}
    ended = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("plimsoll: the environment is wrong: ")
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
