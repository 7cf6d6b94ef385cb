"""Every page in a real browser: no error, no breach of the policy, no call elsewhere, nothing serious for axe-core."""

from playwright.sync_api import expect

from libs.web.solving_slots import solving_slot
from tests.services.pages.browser import SIZE, Visitor, serious

PAGES = [
    "/regions",
    "/regions/west",
    "/regions/west?show=free",
    "/regions/west?days=7&past=1",
    "/regions/east",
    "/regions/west/reservations",
    "/regions/west/reservations/web",
    "/regions/west/reservations/batch",
    "/regions/west/reservations/web?explain=1",
    "/regions/west/reservations/web?explain=1&type=c5.metal&wait=1",
    "/regions/west/reservations/web?return=1",
    "/regions/west/ask",
    "/regions/west/ask?resize=web",
    "/regions/west/ask?amend=5",
    "/regions/west/requests",
    "/regions/west/requests?open=5",
    "/regions/west/approvals",
    "/regions/west/servers",
    "/regions/west/servers/server-000010?wait=1",
    "/regions/west/solves",
    "/regions/west/solves/1",
    "/regions/west/solves/3?with=1",
    "/regions/east/solves",
    "/regions/west/rollouts",
    "/regions/west/rollouts/1",
    "/regions/west/rollouts/2",
    "/regions/east/rollouts",
    "/regions/west/what-if",
    "/regions/west/what-if?lose%3Amsb%3Amsb-01=on&policy%3Abuffer_cost=8&demand%3A3%3Ascale=2&demand%3A3%3Aof=all",
    "/regions/west/what-if/1",
    "/regions/west/what-if/2",
    "/regions/east/what-if",
    "/regions/west/failures",
    "/regions/west/failures?scope=msb&place=msb-01",
    "/regions/east/failures",
    "/regions/east/reservations",
    "/regions/east/approvals",
    "/regions/west/quotas",
    "/regions/west/quotas?open=search",
    "/regions/east/quotas",
    "/movers",
    "/movers?open=west",
    "/hardware-types",
    "/hardware-types?open=c5.metal",
    "/audit",
    "/audit?action=set_quota&since=2026-11-01T00:00",
    "/tokens",
    "/tokens?open=2",
    "/regions/west/moves",
    "/regions/east/moves",
    "/executions",
    "/executions?state=draft",
    "/executions/1",
    "/executions/2?phase=shift",
    "/executions/2?action=shift/feed/north/east",
    "/flux",
    "/flux?show=planned&product=shop&name_contains=service-1",
    "/flux?plan=1",
    "/flux/models",
    "/flux/models/service-01",
    "/flux/ledger",
    "/flux/ledger?days=7&status=cancelled",
    "/flux/cycles",
    "/flux/cycles?service=none",
    "/style",
    "/style?kind=windjammer&sort=-tonnes",
]
"""Every kind of page, with and without content."""


def test_every_page_is_sound(browser, pages_url, world) -> None:
    """Load each page once. Then look at it in light and in dark colours, which differ in no more than colours."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    person = Visitor(context, pages_url)
    page = person.log_in(world.admin)
    found = {}
    for path in PAGES:
        answer = page.goto(pages_url + path)
        assert answer is not None
        assert answer.status == 200, path
        assert len(answer.body()) < 300_000, path
        assert page.locator("h1").count() == 1, path
        found[path, "light"] = serious(page)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is wider than the window"
        page.emulate_media(color_scheme="dark")
        found[path, "dark"] = serious(page, colours_only=True)
        page.emulate_media(color_scheme="light")
    context.close()
    assert {where: wrong for where, wrong in found.items() if wrong} == {}
    assert person.wrongs == []


def test_dark_colours_differ_in_nothing_but_colours(visitor: Visitor) -> None:
    """So it suffices to check the colours of dark pages."""
    page = visitor.window()
    page.goto(f"{visitor.url}/login")
    rules = page.evaluate("""[...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
        .filter(rule => rule.conditionText?.includes("color-scheme"))
        .flatMap(rule => [...rule.cssRules]).flatMap(rule => [...rule.style].map(name => [rule.selectorText, name]))""")
    assert len(rules) > 20
    assert {selector for selector, _ in rules} == {":root"}
    lengths = page.evaluate(
        "names => names.filter(name => !CSS.supports('color', getComputedStyle("
        "document.documentElement).getPropertyValue(name)))",
        [name for _, name in rules],
    )
    assert lengths == []


_TINY = """[...document.querySelectorAll('main svg text')].filter(text =>
    parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a < 6.5).map(text => text.textContent)"""


def test_pages_fit_a_phone_and_a_large_font(browser, pages_url, world) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = Visitor(context, pages_url).log_in(world.viewer)
    for path in PAGES:
        page.goto(pages_url + path)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is wider than the window"
        assert page.evaluate(_TINY) == [], f"words in pictures of {path} cannot be read"
    context.close()


def test_the_login_page_is_sound(visitor: Visitor) -> None:
    page = visitor.window()
    page.goto(f"{visitor.url}/login")
    expect(page.get_by_label("Your token")).to_be_focused()
    assert serious(page) == []


def test_the_first_tab_stop_skips_to_the_content(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.viewer)
    page.goto(f"{visitor.url}/regions/west")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    inside = page.evaluate("document.querySelector('main').contains(document.activeElement)")
    assert inside


def test_a_live_part_changes_only_when_there_is_news_and_never_under_the_pointer(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.viewer)
    with page.expect_response(lambda r: "past=1" in r.url):  # the past follows the page once
        page.goto(f"{visitor.url}/regions/west?show=servers")

    def poll() -> int:
        with page.expect_response(lambda r: "/regions/west?show" in r.url) as answer:
            page.evaluate("htmx.trigger('#live', 'htmx:poll'); htmx.ajax('GET', location.href, {source: '#live'})")
        return answer.value.status

    page.evaluate("document.querySelector('#live').dataset.seen = 'yes'")
    assert poll() == 304
    assert page.locator("#live").get_attribute("data-seen") == "yes", "nothing was replaced"
    page.locator("#live").evaluate("part => part.dataset.etag = 'older'")
    assert poll() == 200
    expect(page.locator("#live")).not_to_have_attribute("data-seen", "yes")
    page.locator("table.heat tbody td").first.hover()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("htmx.ajax('GET', location.href, {source: '#live'})")
    page.wait_for_function("document.querySelector('tbody:hover')")
    assert asked == []


def test_without_scripts_everything_but_live_updates_works(browser, pages_url, world) -> None:
    context = browser.new_context(viewport=SIZE, java_script_enabled=False)
    person = Visitor(context, pages_url)
    page = person.log_in(world.viewer)
    page.get_by_role("link", name="west", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Region west")
    expect(page.get_by_text("Live updates need scripts.")).to_be_visible()
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()
    page.goto(f"{pages_url}/style")
    page.get_by_label("Kind").select_option("windjammer")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("table.rows tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Tonnes").click()
    expect(page.locator("table.rows tbody th").first).to_have_text("Preussen")
    assert "kind=windjammer" in page.url
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    context.close()
    assert person.wrongs == []


def test_an_operator_pauses_an_execution_by_mouse_and_takes_an_action_over_by_keyboard(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.operator)
    page.get_by_role("link", name="Executions").click()
    page.locator("tbody tr", has_text="Running").get_by_role("link").click()
    whole = page.get_by_role("form", name="Commands: The whole execution")
    whole.get_by_role("button", name="Pause").click()
    assert whole.get_by_label("Reason").evaluate("field => field.matches(':invalid')"), "it needs a reason"
    whole.get_by_label("Reason").fill("a launch today")
    whole.get_by_role("button", name="Pause").click()
    expect(page.locator("#live .badge").first).to_have_text("Pausing")
    expect(whole.get_by_role("button", name="Pause")).to_be_disabled()
    expect(whole).to_contain_text("Pause: it is paused already.")
    assert serious(page) == []

    page.locator("svg a", has_text="shop/east/west").focus()
    page.keyboard.press("Enter")
    action = page.get_by_role("form", name="Commands: shift/shop/east/west")
    expect(action).to_contain_text("take it over first")
    action.get_by_label("Reason").focus()
    page.keyboard.type("by hand today")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="shift/shop/east/west").locator(".badge").first).to_have_text("Bakes")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Take over":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="shift/shop/east/west").locator(".badge").first).to_have_text("Taken over")
    expect(action.get_by_role("button", name="Complete")).to_be_enabled()
    for form, badge in ((action, "Held"), (whole, "Running")):
        form.get_by_label("Reason").fill("it is over")
        form.get_by_role("button", name="Resume").click()
        expect(page.get_by_text(badge, exact=True).first).to_be_visible()
    expect(page.get_by_role("region", name="Commands, scrollable")).to_contain_text("by hand today")


def test_the_answer_appears_while_a_person_fills_in_the_form(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.owner)
    page.goto(f"{visitor.url}/regions/west/ask")
    page.get_by_label("Name").fill("typed")
    page.get_by_label("RRU of a server of c5.metal").fill("1")
    page.get_by_label("Capacity in RRU").fill("4")
    expect(page.locator("#answer")).to_contain_text("is the answer that it would get now")
    page.get_by_label("Capacity in RRU").fill("a few")
    expect(page.locator("#answer")).to_contain_text("must be a number, not a few")
    assert serious(page) == []
    visitor.wrongs[:] = [wrong for wrong in visitor.wrongs if "422" not in wrong]


def test_an_estimate_follows_a_what_if_while_a_person_edits_it(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.operator)
    page.goto(f"{visitor.url}/regions/west/what-if?demand%3A1%3Aname=index&demand%3A1%3Acapacity_rru=5")
    answer = page.locator("#answer")
    expect(answer).to_contain_text("To spare")
    page.get_by_label("Capacity in RRU, row 1").fill("9000")
    expect(answer).to_contain_text("Not possible")
    assert serious(page) == []
    page.get_by_label("Capacity in RRU, row 1").fill("")
    page.get_by_label("Name, row 1").fill("")
    expect(answer).to_contain_text("Fill in the form")
    page.get_by_label("msb-01", exact=True).check()
    expect(answer).to_contain_text("At once")
    expect(page.get_by_role("button", name="Run it")).to_be_enabled()


def test_an_estimate_that_finds_no_room_is_asked_for_again(visitor: Visitor, world) -> None:
    page = visitor.log_in(world.operator)
    page.goto(f"{visitor.url}/regions/west/what-if")
    with solving_slot(-1), solving_slot(-2):
        page.get_by_label("msb-01", exact=True).check()
        expect(page.locator("#answer")).to_contain_text("Yours follows in a few seconds.")
    expect(page.locator("#answer")).to_contain_text("At once")
