"""Each machine-checkable rule of docs/STYLE.md finds its breach, and plain prose passes."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_style"


@pytest.fixture(scope="module")
def style():
    loader = SourceFileLoader("check_style", str(SCRIPT))
    module = module_from_spec(spec_from_loader("check_style", loader))
    loader.exec_module(module)
    return module


PLAIN = "The mover retries a call that failed.\nIt waits longer each time: 1 s, 2 s, 4 s.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("word " * 21, "columns; wrap prose at 100"),
        ("It is " + "very\n" * 30 + "long.", "33 words; at most 25"),
        ("Good.\nWhat is legal is kept.", "begins with a clause"),
        ("It waits for ever.", "'for ever'"),
        ("- Nobody reads it.", "'Nobody'"),
    ],
)
def test_a_page_off_the_style_is_found(style, text, said):
    found = list(style.page_breaches("docs/page.md", text))
    assert any(said in one for one in found), found


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```\n{'code ' * 60}\n```",
        f"| {'cell ' * 60} |",
        f"[a long link](https://{'x' * 120})",
        "What does it cost?",
        "## What it costs",
        f"Read `{'code ' * 9}` first.",
    ],
)
def test_a_plain_page_passes(style, text):
    assert list(style.page_breaches("docs/page.md", text)) == []


def test_a_long_readme_is_found(style):
    assert any("121 lines" in one for one in style.page_breaches("README.md", "Short.\n\n" * 60 + "End."))


def test_docstrings_and_comments_are_read(style):
    code = '"""Who is refused is told why."""\n\n# somebody waits\nX = 1\n'
    found = list(style.code_breaches("libs/x.py", code))
    assert [one.split(": ")[0] for one in found] == ["libs/x.py:1", "libs/x.py:3"]


def test_lists_of_fields_are_no_sentences(style):
    fields = "\n".join(f"    name{k}  (N,) {'word ' * 20}" for k in range(3))
    assert list(style.code_breaches("libs/x.py", f'"""Do it.\n\n{fields}\n"""\n')) == []


def test_a_record_off_the_template_is_found(style, tmp_path, monkeypatch):
    monkeypatch.setattr(style, "ROOT", tmp_path)
    (tmp_path / "0001-good.md").write_text(
        "# 0001: Plans have a parent\n\nAccepted, 2026-11.\n\n## Context\n\n## Decision\n\n## Consequences\n"
    )
    (tmp_path / "0002-bad.md").write_text("# 0003: Other\n")
    (tmp_path / "README.md").write_text("[0001](0001-good.md)")
    found = list(style.record_breaches(tmp_path))
    assert found
    assert all("0002-bad.md" in one for one in found)
    assert len(found) == 6
