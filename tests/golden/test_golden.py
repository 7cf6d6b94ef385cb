"""Goldens find a difference, tell how to bless it, and are rewritten only then."""

from pathlib import Path

import pytest

from tests.fixtures.golden import Golden


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "small.txt").write_text("web: 2\nfeed: 3\n")
    return tmp_path


def test_a_difference_is_shown_with_the_way_to_bless_it(folder: Path) -> None:
    kept = Golden(folder, bless=False)
    kept.check("plans/small.txt", "web: 2\nfeed: 3")
    with pytest.raises(pytest.fail.Exception, match=r"-feed: 3\n\+feed: 4\n\nIf .* run \./scripts/test --bless"):
        kept.check("plans/small.txt", "web: 2\nfeed: 4")
    assert (folder / "plans" / "small.txt").read_text() == "web: 2\nfeed: 3\n"


def test_a_file_that_is_missing_and_one_that_no_test_makes_are_differences(folder: Path) -> None:
    kept = Golden(folder, bless=False)
    with pytest.raises(pytest.fail.Exception, match=r"new\.txt"):
        kept.check("plans/new.txt", "web: 2")
    with pytest.raises(pytest.fail.Exception, match=r"small\.txt"):
        kept.check_all("plans", {})


def test_blessing_writes_what_is_new_and_removes_what_is_gone(folder: Path) -> None:
    Golden(folder, bless=True).check_all("plans", {"new.txt": "web: 2\n\n"})
    assert {path.name: path.read_text() for path in (folder / "plans").iterdir()} == {"new.txt": "web: 2\n"}
    Golden(folder, bless=False).check_all("plans", {"new.txt": "web: 2"})
