"""The page of a region."""

import csv
import io

import pytest

from tests.services.pages.test_pages import text_of


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def test_the_region_shows_the_racks_that_send_most_against_their_limits(log_in, world, api) -> None:
    browser, found = log_in(world.viewer), api.get("/v1/regions/west/uplinks").json()
    assert found["racks_above"] > 0, "the world has a rack above its limit"
    page = browser.get("/regions/west")
    said = text_of(page.text)
    limited = len(found["limits"])
    assert f"{found['racks_above']} racks of {limited} with a limit would send more than it by targets" in said
    rows = list(csv.DictReader(io.StringIO(browser.get("/regions/west?format=csv&table=uplinks").text)))
    assert [(row["Rack"], float(row["Limit"])) for row in rows] == [(one["rack"], 12) for one in found["fullest"]]
    assert "Gbit/s by rack" not in text_of(browser.get("/regions/east").text), "no rack of it has a limit"
