"""A command is imported when it runs, and --help repeats the first sentence of its own help."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from services.cli.assign.command import SECTIONS as ASSIGN
from services.cli.assign.command import app as assign
from services.cli.flux.command import SECTIONS
from services.cli.flux.command import app as flux
from services.cli.main import GROUPS, app

ROOT = Path(__file__).parents[3]
HEAVY = {"numpy", "scipy", "pyarrow", "highspy", "numba", "sqlalchemy", "fastapi"}


def first_sentence(text):
    return text.partition(". ")[0].partition("\n")[0].rstrip(".") + "."


@pytest.mark.parametrize(("group", "sections"), [(app, GROUPS), (flux, SECTIONS), (assign, ASSIGN)])
def test_the_list_says_what_each_command_says_of_itself(group, sections):
    command = typer.main.get_command(group)
    said = {name: sentence for section in sections.values() for name, (_, sentence) in section.items()}
    assert list(said) == command.list_commands(None)
    assert said == {name: first_sentence(command.get_command(None, name).help) for name in said}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["flux", "--help"], ["flux", "override", "--help"], ["assign", "--help"], ["get", "--help"]],
)
def test_help_waits_for_no_solver(arguments):
    code = (
        "import json, sys; from services.cli.main import main\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "typer" in loaded
    assert not HEAVY & set(loaded)


def test_a_command_ends_without_a_look_for_cycles_in_all_its_memory():
    code = (
        "import atexit, gc, sys; from services.cli.main import start\n"
        "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0))\n"  # what is registered last runs first
        "sys.argv[1:] = ['--help']\n"
        "start()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "frozen True"
