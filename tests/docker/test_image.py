"""The Dockerfile, and the entry point of the image."""

import subprocess
from pathlib import Path

from tests.builders.deployment import ROOT, program


def test_the_dockerfile_follows_the_usual_advice() -> None:
    told = program("hadolint", "--failure-threshold", "info", ROOT / "Dockerfile")
    assert told.returncode == 0, told.stdout


def test_the_image_gets_no_more_than_it_needs() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[0] == "*"
    given = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        word
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert {word.partition("/")[0] for word in copied - {"docker/entrypoint"}} | {"docker/entrypoint"} == given
    assert all((ROOT / name).exists() for name in copied)


def test_the_entry_point_copies_the_kernels_where_numba_may_write(tmp_path: Path) -> None:
    script = (ROOT / "docker" / "entrypoint").read_text()
    assert "/opt/plimsoll/kernels" in script
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "kernel.nbc").write_text("compiled")
    mine = tmp_path / "entrypoint"
    mine.write_text(script.replace("/opt/plimsoll/kernels", str(tmp_path / "built")))
    for _ in range(2):  # a container that starts again finds its copy
        told = subprocess.run(
            ["sh", mine, "sh", "-c", 'cat "$NUMBA_CACHE_DIR/kernel.nbc"'],
            env={"PATH": "/usr/bin:/bin", "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (told.stdout, told.returncode) == ("compiled", 0), told.stderr
