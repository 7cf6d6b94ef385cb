"""Take a picture of every page, light and dark, over the data of a small region: `./scripts/pages-shots`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Collection, Iterable
from pathlib import Path

from playwright.sync_api import Page, expect

from libs.store.platform.migrate import migrate
from services.standalone.postgres import running_postgres
from tests.builders.pages_world import pages_world
from tests.services.pages.browser import SIZE, Visitor, chromium, find_chromium, serving
from tests.services.pages.logins import login_platform

SHOTS = {
    "regions": "/regions",
    "region": "/regions/west",
    "reservations": "/regions/west/reservations",
    "reservation": "/regions/west/reservations/web",
    "ask": "/regions/west/ask?resize=web",
    "requests": "/regions/west/requests",
    "approvals": "/regions/west/approvals",
    "servers": "/regions/west/servers",
    "server": "/regions/west/servers/server-000010?wait=1",
    "failures": "/regions/west/failures",
    "failures-of-blocks": "/regions/west/failures?kind=network_block",
    "solves": "/regions/west/solves",
    "solve": "/regions/west/solves/1",
    "two-solves": "/regions/west/solves/3?with=1",
    "rollouts": "/regions/west/rollouts",
    "rollout": "/regions/west/rollouts/2",
    "moves": "/regions/west/moves",
    "executions": "/executions",
    "execution": "/executions/2",
    "action": "/executions/2?action=shift/feed/north/east",
    "what-if": "/regions/west/what-if?lose%3Amsb%3Amsb-03=on&lose%3Anetwork_block=block-02"
    "&demand%3A1%3Aname=web&demand%3A1%3Acapacity_rru=30",
    "simulation": "/regions/west/what-if/1",
    "quotas": "/regions/west/quotas?open=ads",
    "movers": "/movers",
    "mover": "/movers?open=east",
    "hardware-types": "/hardware-types",
    "audit": "/audit",
    "tokens": "/tokens?open=3",
    "flux": "/flux",
    "flux-models": "/flux/models",
    "flux-model": "/flux/models/service-01",
    "flux-ledger": "/flux/ledger",
    "flux-cycles": "/flux/cycles",
    "style": "/style",
}
"""Name of a picture -> the page. A new page adds its line. Ids are those of a new database, so they stay the same."""
LOGIN = "login"
"""The picture of the login page, with the button of an issuer. It is taken before anybody logs in."""
SCHEMES = ("light", "dark")
_HEIGHT_MAX = 2400
"""Pixels of a picture. The rest of a longer page is cut off."""


def take_shots(names: Collection[str], out: Path, chromium_path: str) -> list[str]:
    """Write NAME-light.png and NAME-dark.png to `out` for each name. Return what went wrong in the pages."""
    home = Path(tempfile.mkdtemp(prefix="plimsoll-shots-"))
    wrongs: list[str] = []
    try:
        with running_postgres(home / "postgres", durable=False) as database_url:
            migrate(database_url)
            with (
                pages_world(database_url, home) as world,
                serving(world.platform.url, world.platform.clock) as url,
                login_platform(world.platform.database, home) as (_, login_url),
                chromium(chromium_path) as browser,
            ):
                for scheme in SCHEMES:
                    context = browser.new_context(viewport=SIZE, color_scheme=scheme)
                    if LOGIN in names:
                        stranger = Visitor(context, login_url)
                        _take(stranger.window(), f"{login_url}/login", out / f"{LOGIN}-{scheme}.png")
                        wrongs += stranger.wrongs
                    person = Visitor(context, url)
                    page = person.log_in(world.admin)
                    for name in (one for one in SHOTS if one in names):
                        _take(page, url + SHOTS[name], out / f"{name}-{scheme}.png")
                    wrongs += person.wrongs
                    context.close()
    finally:
        shutil.rmtree(home)
    return wrongs


def _take(page: Page, address: str, file: Path) -> None:
    page.goto(address)
    expect(page.locator(".htmx-request")).to_have_count(0, timeout=60_000)  # a part that follows the page
    size = {"x": 0, "y": 0, "width": SIZE["width"], "height": 0}
    size["height"] = min(_HEIGHT_MAX, page.evaluate("document.documentElement.scrollHeight"))
    page.screenshot(path=file, full_page=True, clip=size)


def reduce_colours(pictures: Iterable[Path]) -> None:
    """Write the pictures again with 64 colours, in a third of the bytes. They stay as they are without pngquant."""
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--ext", ".png", "--speed", "1", "64", *pictures], check=True)


def main() -> int:
    """Take the pictures that the command line asks for. Return the exit status."""
    known = [LOGIN, *SHOTS]
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pages"), help="the folder of the pictures")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(known)}")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(known)
    if unknown:
        parser.error(f"there is no page {', '.join(sorted(unknown))}; the pages are {', '.join(known)}")
    path = find_chromium()
    if path is None:
        parser.error(
            "there is no Chromium (Debian: apt-get install chromium); PLIMSOLL_TEST_CHROMIUM names another one"
        )
    asked.out.mkdir(parents=True, exist_ok=True)
    names = asked.names or known
    wrongs = take_shots(names, asked.out, path)
    reduce_colours(asked.out / f"{name}-{scheme}.png" for name in names for scheme in SCHEMES)
    for wrong in wrongs:
        print(wrong, file=sys.stderr)
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
