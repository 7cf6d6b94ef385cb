"""The compose file: what Compose itself says of it, and rules that it does not check."""

import json
from typing import Any

import pytest

from libs.reconcile.jobs import Worker
from tests.builders.deployment import HELPERS, OVER_HTTP, PROCESSES, ROOT, program, runs, unknown_variables, version

OURS = {*PROCESSES, "passwords", "migrate", "cli", "tokens"}
OTHERS = {"db", "queue", "prometheus", "collector", "grafana"}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    """Return the services as Compose understands the file. It fails on anything that it does not know."""
    told = program("docker-compose", "-f", ROOT / "docker-compose.yml", "--profile", "*", "config", "--format", "json")
    assert told.returncode == 0, told.stderr
    found: dict[str, dict[str, Any]] = json.loads(told.stdout)["services"]
    assert found.keys() == OURS | OTHERS
    return found


def test_every_process_of_the_platform_is_there(services: dict[str, dict[str, Any]]) -> None:
    assert {name: runs(services[name]["command"]) for name in PROCESSES} == PROCESSES
    assert runs(services["migrate"]["command"]) == "services.portal.main set-up"
    programs = [*PROCESSES.values(), *HELPERS.values()]
    workers = {what.partition(" ")[2] for what in programs if "standalone.worker" in what}
    assert workers == set(Worker), "each kind of job has a worker"


def test_our_containers_are_locked_down(services: dict[str, dict[str, Any]]) -> None:
    for name in OURS:
        service = services[name]
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["image"] == f"plimsoll:{version()}", name


def test_each_variable_is_read_by_some_process(services: dict[str, dict[str, Any]]) -> None:
    assert unknown_variables({name for one in services.values() for name in one.get("environment") or {}}) == set()


def test_the_file_of_issuers_reaches_the_api_if_it_is_named(
    services: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert services["api"]["environment"]["PLIMSOLL_ISSUERS_FILE"] == ""
    monkeypatch.setenv("PLIMSOLL_ISSUERS", "./mine.yaml")
    told = program("docker-compose", "-f", ROOT / "docker-compose.yml", "config", "--format", "json")
    api = json.loads(told.stdout)["services"]["api"]
    [mount] = [one for one in api["volumes"] if one["target"] == api["environment"]["PLIMSOLL_ISSUERS_FILE"]]
    assert (mount["source"].endswith("/mine.yaml"), mount["read_only"]) == (True, True)


def test_ports_are_open_on_this_machine_alone(services: dict[str, dict[str, Any]]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


def test_only_those_that_need_the_admin_token_see_it(services: dict[str, dict[str, Any]]) -> None:
    holders = {n for n, s in services.items() for volume in s.get("volumes", ()) if volume["source"] == "admin"}
    assert holders == {"migrate", "cli", "tokens"}


def test_the_pages_see_no_secret(services: dict[str, dict[str, Any]]) -> None:
    assert not services["pages"].get("volumes")
    given = dict(services["pages"]["environment"])
    assert given.pop("PLIMSOLL_URL") == "http://api:8000"
    assert given == {"PLIMSOLL_PAGES_REDIRECT_URI": "", "PLIMSOLL_PAGES_CLIENT_SECRETS": ""}


def test_whoever_serves_no_http_says_that_it_lives(services: dict[str, dict[str, Any]]) -> None:
    for name in set(PROCESSES) - OVER_HTTP:
        assert services[name]["environment"]["PLIMSOLL_ALIVE_FILE"] in str(services[name]["healthcheck"]["test"])
