"""An operator's story in a real browser: an MSB is lost, who loses, the link goes round, and a way out is applied."""

from playwright.sync_api import Page, expect

from tests.services.pages.browser import SIZE, Visitor, serious


def answered(page: Page, world) -> str:
    """Let the worker answer the question on this page, and return its address."""
    expect(page.get_by_text("It waits for a worker.")).to_be_visible()
    world.platform.tick()
    page.reload()
    return page.url


def test_lose_an_msb_share_it_and_apply_a_way_out(browser, pages_url, visitor: Visitor, world) -> None:
    page = visitor.log_in(world.operator)
    page.goto(f"{pages_url}/regions/west/failures")
    page.get_by_role("link", name="Ask what a solve could mend").click()
    page.get_by_label("msb-03", exact=True).check()
    page.get_by_role("button", name="Run it").click()
    loss = answered(page, world)
    expect(page.get_by_role("heading", level=1)).to_have_text("What if msb-03 is lost?")
    page.get_by_label("Effect").select_option("Loses")
    page.get_by_role("button", name="Filter").first.click()
    losers = page.locator("section[aria-label='Who gains and who loses'] tbody tr")
    assert losers.count() >= 1
    expect(page.get_by_role("button", name="Apply it")).to_be_disabled()
    assert serious(page) == []

    colleague = Visitor(browser.new_context(viewport=SIZE), pages_url)
    other = colleague.log_in(world.viewer)
    other.goto(page.url)
    expect(other.locator("section[aria-label='Who gains and who loses'] tbody tr")).to_have_count(losers.count())
    assert colleague.wrongs == []
    colleague.context.close()

    page.goto(loss)
    page.get_by_role("link", name="Change it and ask again").click()
    expect(page.get_by_label("msb-03", exact=True)).to_be_checked()
    page.get_by_label("msb-03", exact=True).uncheck()
    page.get_by_label("Name, row 1").fill("index")
    page.get_by_label("Capacity in RRU, row 1").fill("27")
    page.get_by_role("button", name="Run it").click()
    answered(page, world)
    page.get_by_label("Reason").fill("make room for the loss of msb-03")
    page.get_by_role("button", name="Apply it").click()
    expect(page.get_by_text("olga applied it")).to_be_visible()


def test_the_same_by_keyboard(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.operator)
    page.goto(f"{visitor.url}/regions/west/what-if")

    def reach(name: str, role: str) -> None:
        wanted = page.get_by_role(role, name=name, exact=True)
        for _ in range(120):
            page.keyboard.press("Tab")
            if wanted.evaluate("one => one === document.activeElement"):
                return
        raise AssertionError(f"no way to {name} by keyboard")

    reach("msb-02", "checkbox")
    page.keyboard.press("Space")
    reach("Make a link", "button")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The form says: msb-02 is lost.")).to_be_visible()
    reach("Run it", "button")
    page.keyboard.press("Enter")
    answered(page, world)
    expect(page.get_by_role("heading", level=1)).to_have_text("What if msb-02 is lost?")
    page.goto(f"{visitor.url}/regions/west/what-if")
    reach("Name, row 1", "combobox")
    page.keyboard.type("index")
    reach("Capacity in RRU, row 1", "textbox")
    page.keyboard.type("26")
    page.keyboard.press("Enter")
    answered(page, world)
    reach("Reason", "textbox")
    page.keyboard.type("less crawling")
    page.keyboard.press("Enter")
    expect(page.get_by_text("olga applied it")).to_be_visible()
