"""Vendored scripts are the published ones, with their licences. Our own files hold nothing that the policy forbids."""

import hashlib
import re
from pathlib import Path

from services.pages.rendering import TEMPLATES
from services.pages.static_files import FOLDER

TESTS = Path(__file__).parent
PUBLISHED = {
    FOLDER / "vendor/htmx-2.0.11.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    TESTS / "vendor/axe-core-4.14.1.min.js": "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
}
"""File -> SHA-256 of the file in the npm package of that version."""
INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|\shx-on|javascript:|\bjs:|https?://(?!www\.w3\.org)", re.I
)
"""Markup that a strict policy forbids, or that calls another host."""


def test_vendored_scripts_are_the_published_ones() -> None:
    for path, sha256 in PUBLISHED.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256, path.name
        assert path.with_name(path.name.replace(".min.js", ".LICENSE.txt")).stat().st_size > 100
    folders = {path.parent for path in PUBLISHED}
    scripts = {script for folder in folders for script in folder.glob("*.js")}
    assert scripts == set(PUBLISHED)


def test_templates_hold_no_script_no_style_and_no_other_host() -> None:
    templates = sorted(TEMPLATES.glob("*.html"))
    assert len(templates) > 5
    for path in [*templates, FOLDER / "pages.css", FOLDER / "pages.js"]:
        assert not INLINE.findall(path.read_text()), path.name
        assert not re.search(r"hx-(?:trigger|vals|headers|vars)=[\"'][^\"']*(?:\[|js:)", path.read_text()), path.name


def test_the_document_forbids_htmx_to_evaluate() -> None:
    head = (TEMPLATES / "head.html").read_text()
    assert '"allowEval":false' in head
    assert '"includeIndicatorStyles":false' in head
    assert '"selfRequestsOnly":true' in head
