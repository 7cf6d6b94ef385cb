"""Check the help of every command, at 80 columns."""

import re
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from services.cli.main import COMMANDS, app
from tests.fixtures.golden import Golden

PLIMSOLL = typer.main.get_command(app)
COLOUR = re.compile(r"\x1b\[")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def paths(command: object, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and of each command below it."""
    yield path
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from paths(command.get_command(None, name), *path, name)


def helped(*path: str) -> str:
    """Return a command line and its answer."""
    done = CliRunner().invoke(app, [*path, "--help"], prog_name="plimsoll")
    assert done.exit_code == 0, done.output
    assert not COLOUR.search(done.output)
    return "\n".join([f"$ {' '.join(['plimsoll', *path])} --help", done.output])


def test_each_command_says_the_same_of_itself(golden: Golden) -> None:
    texts = {"plimsoll.txt": helped()}
    for name in COMMANDS:
        command = PLIMSOLL.get_command(None, name)
        texts[f"{name}.txt"] = "\n".join(helped(*path) for path in paths(command, name))
    golden.check_all("cli_help", texts)
