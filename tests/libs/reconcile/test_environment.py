"""A process with a wrong environment ends at once, with one line and without secrets."""

import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import BaseSettings

import libs
import services
from libs.jobs.settings import WorkerSettings
from libs.reconcile.environment import read_environment
from libs.store.platform.settings import StoreSettings
from services.standalone.settings import StandaloneSettings

BAD = [
    "postgresql://user:s3cret/with#slash@host:5432/name",
    "postgresql://user:pass@host:s3cret/name",
    "mysql://user:s3cret@host/name",
    "user:s3cret@host",
    "",
]
GOOD = ["postgresql://u:p@h:5432/n", "postgres://h/n", "postgresql://u:p%2F@/n?host=/run/postgresql"]


@pytest.mark.parametrize("url", BAD)
def test_a_bad_database_url_is_refused_and_not_shown(monkeypatch, url):
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ValidationError) as refused:
        StoreSettings()
    with pytest.raises(SystemExit) as left:
        read_environment(WorkerSettings)
    for text in (str(refused.value), repr(refused.value), str(left.value)):
        assert "DATABASE_URL" in text
        assert "s3cret" not in text
    assert "\n" not in str(left.value)


@pytest.mark.parametrize("url", GOOD)
def test_a_good_one_is_taken(monkeypatch, url):
    monkeypatch.setenv("DATABASE_URL", url)
    assert read_environment(StoreSettings).database_url.get_secret_value() == url
    assert read_environment(StandaloneSettings).database_url.get_secret_value() == url


def test_what_is_wrong_beside_a_secret_does_not_show_it(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:s3cret@host/name")
    monkeypatch.setenv("PLIMSOLL_JOB_SLOTS", "s3cret")
    monkeypatch.setenv("PLIMSOLL_CLOCK_SPEED", "0")
    with pytest.raises(SystemExit) as left:
        read_environment(WorkerSettings)
    assert "PLIMSOLL_JOB_SLOTS is wrong: must be a whole number" in str(left.value)
    assert "PLIMSOLL_CLOCK_SPEED is wrong: must be more than 0" in str(left.value)
    assert "s3cret" not in str(left.value)
    monkeypatch.setenv("PLIMSOLL_JOB_CYCLES", "{s3cret")
    with pytest.raises(SystemExit, match=r"PLIMSOLL_JOB_CYCLES: is not JSON$"):
        read_environment(WorkerSettings)


def test_a_variable_may_be_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("PLIMSOLL_SECRETS_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("PLIMSOLL_DATABASE_POOL_SIZE", "3")
    (tmp_path / "DATABASE_URL").write_text("postgresql://u:s3cret@h/n\n")
    (tmp_path / "PLIMSOLL_DATABASE_POOL_SIZE").write_text("7")
    settings = read_environment(StoreSettings)
    assert settings.database_url.get_secret_value() == "postgresql://u:s3cret@h/n"
    assert settings.database_pool_size == 3, "the environment comes first"
    (tmp_path / "DATABASE_URL").write_text("mysql://u:s3cret@h/n")
    with pytest.raises(SystemExit, match="DATABASE_URL is wrong") as left:
        read_environment(StoreSettings)
    assert "s3cret" not in str(left.value)
    monkeypatch.setenv("PLIMSOLL_SECRETS_DIR", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="PLIMSOLL_SECRETS_DIR is not a folder"):
        read_environment(StoreSettings)


def test_all_settings_hide_their_values():
    for package in (libs, services):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith((".settings", ".connection", ".simulated")):
                import_module(module.name)
    waiting, found = list(BaseSettings.__subclasses__()), set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        found |= {kind} if kind.__module__.startswith(("libs.", "services.")) else set()
    assert len(found) >= 12
    assert [kind for kind in found if not kind.model_config.get("hide_input_in_errors")] == []


@pytest.mark.parametrize(
    "start",
    [
        "from services.broker.main import serve as start",
        "from services.broker.main import work as start",
        "from services.mover.main import serve as start",
        "from services.mover.main import work as start",
        "from services.planner.main import serve as start",
        "from services.planner.main import work as start",
        "from services.portal.main import serve as start",
        "from services.portal.main import set_up as start",
        "from services.portal.main import work as start",
        "from services.scheduler.main import work as start",
        "from services.solver.main import serve as start",
        "from services.solver.main import work as start",
        "from services.standalone.api import make_app as start",
        "from services.standalone.api import serve as start",
        "from services.standalone.worker import main as start",
    ],
)
def test_a_process_does_not_start_without_a_database(start, tmp_path):
    others = {"PLIMSOLL_BUNDLE_DIR": str(tmp_path), "PLIMSOLL_ADMIN_TOKEN_FILE": str(tmp_path / "token")}
    env = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | others
    command = [sys.executable, "-c", f"{start}; start()"]
    ended = subprocess.run(command, env=env, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "plimsoll: the environment is wrong: DATABASE_URL is not set\n"
