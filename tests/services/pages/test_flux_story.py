"""An operator's story of Flux in a real browser: nothing is there, then a plan, and its execution by mouse and by
keyboard.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import httpx
import pytest
from playwright.sync_api import Page, expect

from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.execution_plan import Phase
from tests.builders.executed_plan import Orchestrator
from tests.builders.execution import two_products
from tests.builders.flux_world import fill_flux
from tests.builders.one_process import Platform, SteppedClock, one_process
from tests.services.pages.browser import SIZE, Visitor, serious, serving

BY_MOUSE, BY_KEYBOARD = "downsize/shop-front/east/compute", "downsize/store/north/compute"


@dataclass
class Story:
    """A platform without any plan, and an operator's window on it."""

    platform: Platform
    page: Page
    admin: str

    def fill(self) -> None:
        """Make plans, and carry one out in which each downsize needs an approval."""
        actions = tuple(
            replace(one, approval=("NotAutomated",)) if one.phase is Phase.DOWNSIZE else one for one in two_products()
        )
        moving = Orchestrator(self.platform.database, self.platform.clock, actions)
        moving.start()
        with httpx.Client(base_url=self.platform.url, headers={"Authorization": f"Bearer {self.admin}"}) as http:
            fill_flux(self.platform.database, http, now=self.platform.clock.now())
        for _ in range(3):
            moving.tick(300.0)

    def reach(self, words: str) -> None:
        """Go by keyboard to the button with these words."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.textContent") == words:
                return
        raise AssertionError(f"no way to {words} by keyboard")

    def state_of(self, action: str):
        return self.page.get_by_role("region", name=action, exact=True).locator(".badge").first


@pytest.fixture
def story(browser, database_url, tmp_path) -> Iterator[Story]:
    clock = SteppedClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    with (
        one_process(database_url, tmp_path, clock, SimulatedActuator(clock, SimulatedSettings())) as (platform, admin),
        serving(platform.url, clock) as url,
    ):
        person = Visitor(browser.new_context(viewport=SIZE), url)
        token = httpx.post(
            f"{platform.url}/v1/tokens",
            json={"name": "olga", "role": "operator"},
            headers={"Authorization": f"Bearer {admin}"},
        ).json()["secret"]
        yield Story(platform, person.log_in(token), admin)
        person.context.close()
        assert person.wrongs == []


def test_flux_from_nothing_to_an_execution_with_approvals(story: Story) -> None:
    page, parts = story.page, story.page.get_by_role("navigation", name="Flux")

    page.get_by_role("link", name="Flux", exact=True).click()
    expect(page.locator(".empty").first).to_contain_text("No plan was made yet.")
    for part, said in (("Models", "model"), ("Ledger", "No event is due"), ("Cycles", "first execution")):
        parts.get_by_role("link", name=part).click()
        expect(page.locator(".empty").first).to_contain_text(said)
        assert serious(page) == [], part
    page.get_by_role("link", name="Executions").click()
    expect(page.locator(".empty").first).to_contain_text("No plan was carried out yet.")

    story.fill()
    page.get_by_role("link", name="Flux", exact=True).click()
    page.get_by_role("combobox", name="Product").select_option("shop")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("shop alone")).to_be_visible()
    page.get_by_role("link", name="planned", exact=True).click()
    assert "product=shop" in page.url
    assert "show=planned" in page.url
    parts.get_by_role("link", name="Models").click()
    page.get_by_role("link", name="service-01", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("service-01")
    expect(page.locator("figure svg").first).to_be_visible()
    page.go_back()
    for part in ("Ledger", "Cycles"):
        parts.get_by_role("link", name=part).click()
        expect(parts.get_by_role("link", name=part)).to_have_attribute("aria-current", "page")
        expect(page.locator("main svg").first).to_be_visible()

    page.get_by_role("link", name="Executions").click()
    page.locator("tbody tr", has_text="Running").get_by_role("link").click()
    page.locator("svg a", has_text="shop-front/east").click()
    action = page.get_by_role("form", name=f"Commands: {BY_MOUSE}")
    action.get_by_label("Reason").fill("the load test passed")
    action.get_by_role("button", name="Approve").click()
    expect(story.state_of(BY_MOUSE)).not_to_have_text("Waits for approval")
    assert serious(page) == []

    page.locator("svg a", has_text="store/north").first.focus()
    page.keyboard.press("Enter")
    expect(story.state_of(BY_KEYBOARD)).to_have_text("Waits for approval")
    action = page.get_by_role("form", name=f"Commands: {BY_KEYBOARD}")
    action.get_by_label("Reason").focus()
    page.keyboard.type("nothing runs there")
    story.reach("Approve")
    page.keyboard.press("Enter")
    expect(story.state_of(BY_KEYBOARD)).not_to_have_text("Waits for approval")
    expect(action.get_by_role("button", name="Approve")).to_be_disabled()

    whole = page.get_by_role("form", name="Commands: The whole execution")
    whole.get_by_label("Reason").fill("a launch today")
    whole.get_by_role("button", name="Pause").click()
    expect(page.locator("#live .badge").first).to_have_text("Pausing")
    whole.get_by_label("Reason").focus()
    page.keyboard.type("it is over")
    story.reach("Resume")
    page.keyboard.press("Enter")
    expect(page.locator("#live .badge").first).to_have_text("Running")
    for said in ("the load test passed", "nothing runs there", "it is over"):
        expect(page.get_by_role("region", name="Commands, scrollable")).to_contain_text(said)
