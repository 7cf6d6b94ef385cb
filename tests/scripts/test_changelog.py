"""./scripts/changelog shows the fragments of the next version, and collects them in CHANGELOG.md."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the script's input, with two fragments and no others."""
    for name in ("scripts/changelog", "pyproject.toml", "changelog.d/_section.md.jinja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n<!-- releases -->\n\n## 0.1.0\n\nThe first.\n")
    (tmp_path / "changelog.d" / "drain.fixed.md").write_text("`drain` ends\nwhat it began.\n")
    (tmp_path / "changelog.d" / "names.added.md").write_text("Names of tokens.\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def changelog(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["./scripts/changelog", *arguments], cwd=project, capture_output=True, text=True, check=False)


def test_fragments_become_a_version_and_are_removed(project: Path) -> None:
    done = changelog(project, "0.2.0")
    assert done.returncode == 0, done.stderr
    heading, _, rest = (project / "CHANGELOG.md").read_text().partition("<!-- releases -->\n\n")
    released, _, first = rest.partition("\n\n## 0.1.0")
    version, *lines = released.splitlines()
    assert (heading, first) == ("# Changelog\n\n", "\n\nThe first.\n")
    assert version.startswith("## 0.2.0 (")
    assert lines == [
        *("", "### Added", "", "- Names of tokens.", "", "### Fixed", ""),
        *("- `drain` ends", "  what it began."),
    ]
    assert [path.name for path in (project / "changelog.d").iterdir()] == ["_section.md.jinja"]


def test_showing_them_changes_nothing_and_refuses_a_wrong_name(project: Path) -> None:
    before = (project / "CHANGELOG.md").read_text()
    assert "### Fixed" in changelog(project).stdout
    assert (project / "CHANGELOG.md").read_text() == before
    (project / "changelog.d" / "solve.better.md").write_text("Better.\n")
    done = changelog(project)
    assert done.returncode != 0
    assert "solve.better.md" in done.stderr


def test_every_fragment_of_the_repository_has_a_kind_and_fits_the_page() -> None:
    done = changelog(ROOT)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if len(line) > 100] == []
