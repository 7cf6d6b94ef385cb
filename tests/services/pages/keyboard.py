"""Use a page by keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

_STOPS_MAX = 150
"""Tab stops from one thing of a page to another."""


def reach(page: Page, wanted: Locator) -> None:
    """Move the focus with the Tab key until it is on `wanted`. Fail if no stop is there."""
    expect(wanted).to_be_visible()
    for _ in range(_STOPS_MAX):
        if wanted.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no tab stop leads to {wanted}")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    """Move the focus there and press a key."""
    reach(page, wanted)
    page.keyboard.press(key)


def link(page: Page, name: str) -> Locator:
    """Return the link with exactly these words."""
    return page.get_by_role("link", name=name, exact=True)
