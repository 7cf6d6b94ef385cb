"""Deeds of health systems and hardware buyers: report failures, retire servers, and import new ones."""

from __future__ import annotations

from soak.work.client import Client

_REGIONS_MAX = 1
"""Largest number of regions that an admin imports: every region adds cycles of its own."""
_OPEN_MAX = 6
"""Largest number of open failures of one client. The region must lack some servers, but not most of them."""
_RETIREMENTS_MAX = 3
"""Largest number of retirements of one client in a run. Each may remove a server for good."""
_NEW_SERVERS = 12


def report(client: Client) -> None:
    """Report that a server or a rack is down or will be in maintenance."""
    if len(client.open_events) >= _OPEN_MAX:
        return
    rack = client.chance.random() < 0.1
    scope_name = client.chance.choice(client.site.racks if rack else client.site.servers)
    body = {
        "region": client.site.region,
        "scope": "rack" if rack else "server",
        "scope_name": scope_name,
        "kind": client.chance.choice(("planned", "unplanned", "unplanned")),
        "reason": "soak",
    }
    made = client.write("open_event", "POST", "/v1/unavailability-events", body)
    if made is not None:
        client.open_events.append(made["unavailability_event_id"])


def lose(client: Client) -> None:
    """Report that a server of a reservation is down, so that a server of a shared buffer replaces it."""
    if len(client.open_events) >= _OPEN_MAX:
        return
    listed = client.read("list_servers", f"/v1/servers?region={client.site.region}&limit=1000")
    bound = [one["name"] for one in (listed or {"items": []})["items"] if one["target_reservation"] is not None]
    if bound:
        body = {"region": client.site.region, "scope": "server", "scope_name": client.chance.choice(bound)}
        body |= {"kind": "unplanned", "reason": "soak"}
        made = client.write("open_event", "POST", "/v1/unavailability-events", body)
        if made is not None:
            client.open_events.append(made["unavailability_event_id"])


def mend(client: Client) -> None:
    """Report that a server is up again."""
    if client.open_events:
        event = client.open_events.pop(client.chance.randrange(len(client.open_events)))
        client.write("end_event", "POST", f"/v1/unavailability-events/{event}/end")


def retire(client: Client) -> None:
    """Announce that a server leaves the fleet."""
    if len(client.retirements) >= _RETIREMENTS_MAX:
        return
    body = {"region": client.site.region, "scope": "server", "scope_name": client.chance.choice(client.site.servers)}
    body |= {"kind": "decommission", "reason": "soak", "due_at": client.in_a_while(300.0, 1200.0).isoformat()}
    made = client.write("announce", "POST", "/v1/retirements", body)
    if made is not None:
        client.retirements.append(made["retirement_id"])


def keep(client: Client) -> None:
    """Cancel a retirement."""
    if client.retirements:
        path = f"/v1/retirements/{client.chance.choice(client.retirements)}"
        found = client.read_etag("get_retirement", path)
        if found is not None:
            client.swap("cancel_retirement", "POST", f"{path}/cancel", generation=found[1])


def import_region(client: Client) -> None:
    """Import a new region, if the client is an admin."""
    if not client.is_admin or client.regions >= _REGIONS_MAX:
        return
    client.regions += 1
    region = f"{client.name}-g{client.regions}"
    path = f"/v1/regions/{region}"
    files = client.site.region_files(region, 24)
    if client.write("import", "POST", f"{path}/import", files=files) is not None:
        client.read("export", f"{path}/export")


def propose_import(client: Client) -> None:
    """Propose an import of more servers into the quiet region, for a later decision."""
    region = client.site.quiet_region
    servers = client.site.region_files(region, 24 + _NEW_SERVERS * client.chance.randint(0, 3))["servers"]
    made = client.write("propose_import", "POST", f"/v1/regions/{region}/imports", files={"servers": servers})
    if made is not None:
        client.imports.append(made["import_id"])


def decide_import(client: Client) -> None:
    """Confirm or discard a proposed import."""
    if client.imports:
        region, import_id = client.site.quiet_region, client.imports.pop()
        what, verb = client.chance.choice((("confirm_import", "confirm"), ("discard_import", "discard")))
        client.write(what, "POST", f"/v1/regions/{region}/imports/{import_id}/{verb}")


def look(client: Client) -> None:
    """List the servers."""
    client.read("list_servers", f"/v1/servers?region={client.site.region}&limit=1000")
