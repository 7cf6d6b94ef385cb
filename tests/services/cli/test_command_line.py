"""Check the answers to a command that is mistyped, or that finds no platform."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from services.cli.main import main


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["expain", "web"], "no command is called expain: did you mean explain?"),
        (["xyz"], "no command is called xyz"),
        (["flux", "inptus"], "no command is called inptus: did you mean inputs?"),
        (["create", "web", "-r", "a", "--owner", "b", "--rru", "hw-01"], "'hw-01': write TYPE=RRU, such as hw-01=1.5"),
        (["create", "web", "-r", "a", "--owner", "b", "--affinity", "x"], "'x': write DATACENTER=SHARE, such as dc-01"),
        (["solve", "west", "--time-limit", "nan"], "nan is no time: write seconds, 0 or more"),
        (["solve", "west", "--time-limit", "-1"], "-1 is no time: write seconds, 0 or more"),
        (["create", "web", "-r", "a", "--owner", "b", "--capacity", "nan"], "'--capacity': nan is no number: "),
        (["create", "web", "-r", "a", "--owner", "b", "--move-cost", "NaN"], "'--move-cost': NaN is no number"),
        (["create", "web", "-r", "a", "--owner", "b", "--capacity", "inf"], "'--capacity': inf is no number: "),
        (["power", "limit", "west", "msb-00", "--watts", "1e999"], "'--watts': 1e999 is no number"),
        (["create", "web", "-r", "a", "--owner", "b", "--wait", "inf", "--count", "0"], "'--servers': must be at"),
        (["create", "web", "-r", "a", "--owner", "b", "--count", "0"], "'--servers': must be at least 1"),
        (["create", "web", "-r", "a", "--owner", "b", "--count", "1.5"], "'--servers': must be a whole number"),
        (["create", "web", "-r", "a", "--owner", "b", "-o", "xml"], "'-o': 'xml' is not one of 'table', 'json'"),
        (["approve", "first", "--reason", "x"], "'ID': must be a whole number"),
        (["flux", "what-if", "--wait", "nan"], "'--wait': nan is no number"),
        (["ledger", "propose", "--lead-time-h", "nan"], "'--lead-time-h': nan is no number"),
        (["assign", "solve", "one.json", "--time-limit", "soon"], "soon is no time: write seconds, 0.001 or more"),
        (["--output", "json", "get", "servers"], "--output must come after the command: plimsoll get --output"),
    ],
)
def test_what_is_mistyped_is_said_with_what_was_meant(
    typed: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["plimsoll", *typed])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert said in capsys.readouterr().err


def test_the_version_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["plimsoll", "--version"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code in (0, None)
    assert capsys.readouterr().out == f"plimsoll {version('plimsoll')}\n"


def test_nobody_there(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PLIMSOLL_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "services.cli.main", "get", "regions"]
    done = subprocess.run(argv, env=env, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert (done.returncode, "plimsoll up" in done.stderr) == (1, True)
