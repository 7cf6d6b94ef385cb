"""Deeds of owners: ask for capacity, change the request, use the capacity, and give it back."""

from __future__ import annotations

from soak.history import Json
from soak.work.client import Client

_REQUEST_SHARE_MAX = 0.06
"""Largest share of the region's servers in one reservation."""
_RUSH = 3
_MINE_MAX = 9
"""Largest number of reservations of one client. With more, most would wait, and few servers would move."""


def create(client: Client) -> None:
    """Ask for a reservation, at once and without end."""
    _create(client, "create", {})


def create_window(client: Client) -> None:
    """Ask for a reservation that begins and ends by itself."""
    starts_at = client.in_a_while(60.0, 600.0)
    ends_at = client.in_a_while(900.0, 1800.0)
    _create(client, "create_window", {"starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat()})


def rush(client: Client) -> None:
    """Ask for several owners at the same time, so that concurrent assessments see the same free servers."""
    for number in range(_RUSH):
        _create(client, "create", {}, owner=f"{client.name}-{number}")


def follow(client: Client) -> None:
    """Read the reservation of a request."""
    request = _request(client)
    if request is not None and request["reservation_id"] is not None:
        client.read("get_reservation", f"/v1/reservations/{request['reservation_id']}")


def resize(client: Client) -> None:
    """Ask for a larger or smaller reservation."""
    found = _reservation(client)
    if found is None:
        return
    count = max(1, round(found["spec"]["capacity_rru"] * client.chance.choice((0.5, 1.5, 2.0))))
    path = f"/v1/reservations/{found['reservation_id']}"
    made = client.write("resize", "PATCH", path, {"spec": {"count": count}}, generation=found["generation"])
    if made is not None:
        client.mine[found["name"]] = made["capacity_request_id"]


def delete(client: Client) -> None:
    """Delete a reservation."""
    found = _reservation(client)
    if found is not None:
        path = f"/v1/reservations/{found['reservation_id']}"
        if client.write("delete", "DELETE", path, generation=found["generation"]) is not None:
            client.mine.pop(found["name"], None)
            client.read("get_reservation", path)


def withdraw(client: Client) -> None:
    """Ask for a reservation, and withdraw the request."""
    name = _create(client, "create", {})
    if name is None:
        return
    path = f"/v1/capacity-requests/{client.mine[name]}"
    found = client.read_etag("get_request", path)
    if found is not None and client.swap("withdraw", "DELETE", path, generation=found[1]) is not None:
        client.mine.pop(name)


def amend(client: Client) -> None:
    """Ask for a reservation, and change the request."""
    name = _create(client, "create", {})
    found = None if name is None else client.read_etag("get_request", f"/v1/capacity-requests/{client.mine[name]}")
    if found is not None:
        body = {"spec": {"count": _count(client)}}
        path = f"/v1/capacity-requests/{found[0]['capacity_request_id']}"
        client.swap("amend", "PATCH", path, body, generation=found[1])


def use(client: Client) -> None:
    """Start or stop containers on some servers of a reservation."""
    found = _reservation(client)
    if found is None:
        return
    servers = client.read("list_own_servers", f"/v1/reservations/{found['reservation_id']}/servers?limit=1000")
    if servers is None or not servers["items"]:
        return
    chosen = client.chance.sample(servers["items"], min(3, len(servers["items"])))
    changes = [
        {"server_id": server["server_id"], "generation": server["generation"], "in_use": not server["in_use"]}
        for server in chosen
    ]
    client.write("set_in_use", "PATCH", "/v1/servers", {"servers": changes})


def _count(client: Client) -> int:
    return client.chance.randint(1, max(1, int(len(client.site.servers) * _REQUEST_SHARE_MAX)))


def _create(client: Client, what: str, window: Json, *, owner: str | None = None) -> str | None:
    """Ask for a reservation and return its name; None if nothing was acknowledged."""
    if len(client.mine) >= _MINE_MAX:
        return None
    name, types = client.next_name("r"), list(client.site.hardware_types)
    spec = {
        "count": _count(client),
        "hardware_types": client.chance.sample(types, max(1, len(types) // 2)),
        "survives_msb_loss": client.chance.random() < 0.5,
        **window,
    }
    body = {"region": client.site.region, "name": name, "owner": owner or client.name, "spec": spec}
    made = client.write(what, "POST", "/v1/reservations", body)
    if made is None:
        return None
    client.mine[name] = made["capacity_request_id"]
    return name


def _request(client: Client) -> Json | None:
    """Return the current state of a random request. Forget a create that was rejected or withdrawn."""
    if not client.mine:
        return None
    name = client.chance.choice(list(client.mine))
    found = client.read("get_request", f"/v1/capacity-requests/{client.mine[name]}")
    if found is not None and found["kind"] == "create" and found["status"]["phase"] in ("rejected", "withdrawn"):
        client.mine.pop(name)
    return found


def _reservation(client: Client) -> Json | None:
    """Return a random reservation of the client that still exists; None if there is none."""
    request = _request(client)
    if request is None or request["reservation_id"] is None:
        return None
    found = client.read("get_reservation", f"/v1/reservations/{request['reservation_id']}")
    return found if found is not None and found["deleted_at"] is None else None
