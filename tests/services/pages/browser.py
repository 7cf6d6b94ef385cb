"""A real browser over the pages. It notes each thing that a page must not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from libs.reconcile.clock import Clock
from services.pages.app import create_pages
from tests.builders.one_process import listening

AXE = Path(__file__).parent / "vendor/axe-core-4.14.1.min.js"
SIZE = {"width": 1360, "height": 900}


def find_chromium() -> str | None:
    """Return the distribution's Chromium, or the one that PLIMSOLL_TEST_CHROMIUM names; None if there is none."""
    named = os.environ.get("PLIMSOLL_TEST_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def serving(api_url: str, clock: Clock) -> Iterator[str]:
    """Serve the pages in threads of this process, and yield their address."""
    with httpx.Client(base_url=api_url, timeout=60) as http, listening(create_pages(http, clock)) as url:
        yield url


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """Start the browser. It runs without a sandbox only as root, as in containers."""
    arguments = ["--disable-gpu", "--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


_LEFT = ("htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")
"""The messages of htmx when a person leaves a page that still loads. An answer that fails has another message."""


@dataclass
class Visitor:
    """A person with a browser window of their own.

    wrongs   console errors, breaches of the policy, faults of scripts, and requests to other hosts
    """

    context: BrowserContext
    url: str
    wrongs: list[str] = field(default_factory=list)

    def window(self) -> Page:
        """Open a window that is watched."""
        page = self.context.new_page()
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.wrongs.append(f"fault: {error}"))
        page.on("request", lambda request: self._request(request.url))
        return page

    def log_in(self, token: str) -> Page:
        """Log in with the keyboard, and return the window."""
        page = self.window()
        page.goto(f"{self.url}/login?next=/regions")
        page.get_by_label("Your token").fill(token)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{self.url}/regions")
        return page

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not text.startswith(_LEFT):
            self.wrongs.append(f"console {kind}: {text}")

    def _request(self, url: str) -> None:
        if not url.startswith((self.url, "data:")):
            self.wrongs.append(f"request to another host: {url}")


def serious(page: Page, *, colours_only: bool = False) -> list[str]:
    """Return what axe-core finds serious or critical on the page, with the elements. It need not describe the rest."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if colours_only:
        # This one is not checked unless it is asked for.
        options |= {"runOnly": ["cat.color"], "rules": {"color-contrast-enhanced": {"enabled": False}}}
    found = page.evaluate("async options => (await axe.run(options)).violations", options)
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
