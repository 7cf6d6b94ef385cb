"""`plimsoll login`, `logout` and `whoami`: who you are for the platform."""

from __future__ import annotations

from typing import Annotated

import httpx
import typer

from libs.reconcile.environment import read_environment
from services.cli.client import Client, Json
from services.cli.connection import find_url
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, note, print_json, print_rows, say
from services.cli.saved_logins import LoginSettings, SavedLogin, save_login

_RULES = {"LINE": "line", "WHEN": "when", "ROLE": "role", "MATCHES": "matches", "OWNERS": "owners"}


def login(
    issuer: Annotated[str | None, typer.Option(help="name of the issuer, if the platform has several")] = None,
) -> None:
    """Log in with your company's directory: enter a code in a browser, on any machine."""
    from services.cli.device_flow import DeviceFlow

    url = find_url()
    found = _choose(_issuers(url), issuer)
    flow = DeviceFlow(found["issuer"], found["client_id"], http=read_environment(LoginSettings).http_allowed)
    wait = flow.begin(" ".join(found["scopes"]), found["audience"], _show)
    tokens = wait()
    save_login(
        url,
        SavedLogin(
            issuer=found["issuer"],
            client_id=found["client_id"],
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            expires_at=tokens.expires_at,
        ),
    )
    who = _whoami(Client(url, tokens.access_token))
    say(f"logged in at {url}: {_in_words(who)}")


def logout() -> None:
    """Forget the login on this machine."""
    url = find_url()
    say(f"forgot the login at {url}" if save_login(url, None) else f"there was no login at {url}")


def whoami(output: OutputOption = Output.TABLE) -> None:
    """Show who you are for the platform: your claims, the rules that match, your role and your owners."""
    who = _whoami(Client.connect())
    if output is Output.JSON:
        print_json(who)
        return
    say(_in_words(who))
    if who["person"] != who["name"]:
        say(f"the token belongs to {who['person']}")
    found = who["login"]
    if found is None:
        return
    for claim, values in found["claims"].items():
        say(f"claim {claim}: {', '.join(values) or 'the token has none'}")
    for claim in found["left_out"]:
        say(f"claim {claim}: the issuer left it out, because you are in too many groups (docs/identity.md)")
    if found["other_claims"]:
        say(f"claims that no rule reads: {', '.join(found['other_claims'])}")
    rules = [
        {**rule, "when": _when(rule["when"]), "matches": "yes" if rule["matches"] else "no", "owners": rule["owners"]}
        for rule in found["rules"]
    ]
    print_rows([{**rule, "owners": ", ".join(rule["owners"])} for rule in rules], _RULES)
    say(f"in the platform's logs you are {who['log_name']}")


def _whoami(client: Client) -> Json:
    try:
        return client.get("/v1/whoami")
    finally:
        client.close()


def _issuers(url: str) -> list[Json]:
    try:
        answer = httpx.get(f"{url.rstrip('/')}/v1/issuers", timeout=20.0, trust_env=False)
    except httpx.HTTPError as error:
        raise CliFailure(f"{url} does not answer: {error}") from error
    if answer.status_code != 200:
        raise CliFailure(f"{url} answered {answer.status_code}: it may be of a version without logins")
    items: list[Json] = answer.json()["items"]
    return items


def _choose(issuers: list[Json], name: str | None) -> Json:
    names = [one["name"] for one in issuers]
    if not issuers:
        raise CliFailure("this platform has no issuer to log in at: its PLIMSOLL_ISSUERS_FILE names none with `login`")
    if name is None and len(issuers) > 1:
        raise CliFailure(f"this platform has several issuers: add --issuer {' or '.join(names)}")
    found = next((one for one in issuers if name in (None, one["name"])), None)
    if found is None:
        raise CliFailure(f"this platform has no issuer {name}: it has {', '.join(names)}")
    return found


def _show(where: str, code: str) -> None:
    note(f"Open {where} and enter the code {code}. Waiting ...")


def _in_words(who: Json) -> str:
    if who["role"] is None:
        return f"{who['name']}, without a role: no rule of the issuers' file matches your claims"
    owners = f" for {', '.join(who['owners'])}" if who["owners"] else ""
    return f"{who['name']}, {who['role']}{owners}"


def _when(when: dict[str, str]) -> str:
    return ", ".join(f"{claim}={text}" for claim, text in when.items()) or "anyone"
