"""An operator's day by keyboard alone: from what needs attention to a decision, the mover, and maintenance."""

from playwright.sync_api import expect

from tests.builders.pages_world import RRU
from tests.services.pages.browser import Visitor, serious
from tests.services.pages.keyboard import link, press, reach


def test_an_operator_decides_pauses_and_asks_about_maintenance_by_keyboard(visitor: Visitor, world) -> None:
    asked = {"region": "west", "name": "story", "owner": "search", "spec": {"capacity_rru": 58, "rru": RRU}}
    with world.client(world.owner) as owner:
        assert owner.post("/v1/reservations", json=asked).status_code == 202
    world.live(1)
    page = visitor.log_in(world.operator)
    press(page, link(page, "west"))
    expect(page.get_by_role("heading", name="Asked for and held")).to_be_visible()
    expect(page.get_by_role("img", name="Moves and preemptions a day")).to_be_visible()
    assert serious(page) == []
    press(page, link(page, "7 days"))
    expect(page.get_by_role("heading", name="The last 7 days")).to_be_visible()
    press(page, link(page, "Decide"))
    card = page.get_by_role("article", name="story")
    expect(card).to_contain_text("What it does to others")
    expect(card).to_contain_text("none of another reservation")
    press(page, card.get_by_role("link", name="Compare others"))
    others = card.get_by_role("region", name="Others that wait, scrollable")
    expect(others).to_contain_text("crawl", timeout=60_000)  # each is judged twice
    assert serious(page) == []
    reach(page, card.get_by_label("Reason"))
    page.keyboard.type("it is only a story")
    press(page, card.get_by_role("button", name="Reject"))
    decisions = page.get_by_role("region", name="Past decisions, scrollable")
    expect(decisions).to_contain_text("it is only a story")
    expect(page.get_by_role("article", name="story")).to_have_count(0)
    press(page, link(page, "Moves"))
    reach(page, page.get_by_label("Reason").first)
    page.keyboard.type("a new switch")
    press(page, page.get_by_role("button", name="Pause moves"))
    expect(page.get_by_role("button", name="Resume moves")).to_be_visible()
    reach(page, page.get_by_label("Reason").first)
    page.keyboard.type("it is in")
    press(page, page.get_by_role("button", name="Resume moves"))
    expect(page.get_by_role("button", name="Pause moves")).to_be_visible()
    press(page, link(page, "Failures"))
    reach(page, page.get_by_label("Could maintenance begin of the"))
    page.keyboard.type("MSB")
    reach(page, page.get_by_label("called"))
    page.keyboard.type("msb-01")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="is the answer for msb-01 now")).to_be_visible()
    assert serious(page) == []
