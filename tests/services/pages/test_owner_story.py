"""An owner's story in a real browser: ask, read the ways out, amend, withdraw, resize and read why. Once it goes by
mouse, and once by keyboard alone.
"""

import re

from playwright.sync_api import Locator, Page, expect

from tests.services.pages.browser import Visitor, serious
from tests.services.pages.keyboard import link, press, reach


def worth(page: Page) -> Locator:
    """The worth of the first hardware type that has free servers."""
    rows = page.get_by_role("region", name="Hardware types").locator("tbody tr")
    return rows.filter(has=page.locator("td:nth-child(2):not(:text-is('0'))")).first.get_by_role("textbox")


def test_an_owner_asks_by_mouse_takes_a_way_out_amends_and_withdraws(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.owner)
    link(page, "east").click()
    link(page, "Ask").click()
    page.get_by_label("Name").fill("mouse")
    page.get_by_label("Owner").select_option("ads")
    for one in page.get_by_label("RRU of a server of").all():
        one.fill("1")
    page.get_by_label("Capacity in RRU").fill("900")
    answer = page.locator("#answer")
    expect(answer).to_contain_text("Rejected is the answer that it would get now")
    assert serious(page) == []
    way = answer.get_by_role("listitem").get_by_role("link").filter(has_text="Ask for")
    less = re.search(r"Ask for ([\d.]+) RRU", way.inner_text())[1]
    way.click()
    expect(page.get_by_label("Capacity in RRU")).to_have_value(less)
    expect(page.get_by_label("Name")).to_have_value("mouse")
    expect(answer).not_to_contain_text("Rejected")
    expect(answer).to_contain_text("is the answer that it would get now")
    page.get_by_label("Capacity in RRU").fill("1")
    page.get_by_label("From (UTC)").fill("2028-01-01T00:00")
    expect(answer).to_contain_text("Scheduled is the answer")
    page.get_by_role("button", name="Ask for it").click()
    page.wait_for_url("**/regions/east/requests?reservation=mouse")
    page.get_by_role("link", name="Change Request for mouse").click()
    page.get_by_role("link", name="Ask for something else instead").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Amend mouse")
    expect(page.get_by_label("From (UTC)")).to_have_value("2028-01-01T00:00")
    page.get_by_label("Capacity in RRU").fill("2")
    expect(answer).to_contain_text("is the answer that it would get now")
    page.get_by_role("button", name="Amend the request").click()
    page.wait_for_url("**/regions/east/requests?reservation=mouse")
    expect(page.locator("tbody td.number").first).to_have_text("2")
    page.get_by_role("link", name="Change Request for mouse").click()
    page.get_by_label("Reason").fill("not needed after all")
    page.get_by_role("button", name="Withdraw it").click()
    expect(page.get_by_text("The request is withdrawn.")).to_be_visible()
    expect(page.get_by_role("link", name="Change Request for mouse")).to_have_count(0)


def test_an_owner_asks_resizes_and_reads_why_by_keyboard(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.owner)
    press(page, link(page, "east"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Region east")
    press(page, link(page, "Ask"))
    reach(page, page.get_by_label("Name"))
    page.keyboard.type("keys")
    reach(page, page.get_by_label("Capacity in RRU"))
    page.keyboard.type("1")
    press(page, page.get_by_label("keep the capacity when any one MSB is lost"), "Space")
    reach(page, worth(page))
    page.keyboard.type("1")
    expect(page.locator("#answer")).to_contain_text("Granted is the answer that it would get now")
    press(page, page.get_by_role("button", name="Ask for it"))
    page.wait_for_url("**/regions/east/requests?reservation=keys")
    world.live(2)
    page.reload()
    expect(page.locator("tbody .badge").first).to_have_text("Granted")
    press(page, link(page, "keys"))
    expect(page.get_by_role("heading", level=1)).to_have_text("keys")
    press(page, page.locator("table.heat thead a").first)
    expect(page.get_by_role("heading", name=re.compile("Why it has its "))).to_be_visible(timeout=60_000)
    expect(page.locator("#why ~ div")).to_contain_text("is worth 1 RRU to it")
    assert serious(page) == []
    press(page, link(page, "Resize it"))
    capacity = page.get_by_label("Capacity in RRU")
    reach(page, capacity)
    page.keyboard.press("Control+A")
    page.keyboard.type("2")
    expect(page.locator("#answer")).to_contain_text("is the answer that it would get now")
    press(page, page.get_by_role("button", name="Ask for this size"))
    page.wait_for_url("**/regions/east/requests?reservation=keys")
    expect(page.locator("tbody td").filter(has_text="resize").first).to_be_visible()
