"""Deeds of operators: policies, approvals, quotas, solves, simulations, and dead letters of moves."""

from __future__ import annotations

from soak.work.client import Client

_WHY = {"reason": "soak"}
_BY_HAND = ("clean", "host_profile")
"""Steps that an operator may do even if the platform then refuses the skip: they are harmless if done twice."""


def set_policy(client: Client) -> None:
    """Change a cost of the policy, which takes effect at once."""
    found = client.read_etag("get_region", _region(client))
    if found is not None:
        cost = client.chance.choice(("spread_cost", "buffer_cost", "move_cost_idle"))
        body = {"policy": {cost: round(client.chance.uniform(0.5, 8.0), 6)}, **_WHY}
        client.swap("set_policy", "PATCH", _region(client), body, generation=found[1])


def ask_policy(client: Client) -> None:
    """Ask for another size of the shared buffers, which needs approval."""
    found = client.read_etag("get_region", _region(client))
    if found is not None:
        body = {"policy": {"shared_buffer_share": round(client.chance.uniform(0.04, 0.12), 6)}, **_WHY}
        client.write("ask_policy", "PATCH", _region(client), body, generation=found[1])


def decide(client: Client) -> None:
    """Approve or reject a pending approval."""
    waiting = client.read("list_approvals", f"/v1/approvals?region={client.site.region}&status=pending&limit=20")
    if waiting is None or not waiting["items"]:
        return
    one = client.chance.choice(waiting["items"])
    what = client.chance.choice(("approve", "approve", "reject"))
    if one["kind"] == "below_hold":
        what = "approve"  # rejected moves would wait until the end
    if one["kind"] == "plan_action":
        return  # see executing.decide_action
    client.swap(what, "POST", f"/v1/approvals/{one['approval_id']}/{what}", _WHY, generation=one["generation"])


def set_quota(client: Client) -> None:
    """Set the quota of the client's own owner."""
    path = f"/v1/quotas/{client.site.region}/{client.name}"
    found = client.read_etag("get_quota", path)
    if found is not None:
        limit = round(client.chance.uniform(0.1, 0.5) * len(client.site.servers), 6)
        client.swap("set_quota", "PUT", path, {"limit_cost_units": limit, **_WHY}, generation=found[1])


def set_limits(client: Client) -> None:
    """Set the size above which requests need approval, if the client is an admin."""
    if not client.is_admin:
        return
    path = f"{_region(client)}/approval-limits"
    found = client.read_etag("get_limits", path)
    if found is not None:
        size = round(client.chance.uniform(0.03, 0.06) * len(client.site.servers), 6)
        client.swap("set_limits", "PUT", path, {"size_cost_units": size, **_WHY}, generation=found[1])


def solve(client: Client) -> None:
    """Ask for a solve."""
    client.write("solve", "POST", "/v1/solve-runs", {"region": client.site.region})


def look_at_grants(client: Client) -> None:
    """Read which servers the latest grants took, and from which reservations."""
    listed = client.read("list_grants", f"/v1/plans?region={client.site.region}&kind=grant&limit=4")
    for plan in (listed or {"items": []})["items"]:
        client.read("list_changes", f"/v1/plans/{plan['plan_id']}/changes?limit=1000")


def simulate(client: Client) -> None:
    """Simulate other costs in the quiet region."""
    body = {"region": client.site.quiet_region, "policy": {"spread_cost": round(client.chance.uniform(0.5, 8.0), 6)}}
    made = client.write("simulate", "POST", "/v1/simulations", body)
    if made is not None:
        client.simulations.append(made["simulation_id"])


def apply_simulation(client: Client) -> None:
    """Apply the latest simulation that is done."""
    for simulation_id in reversed(client.simulations):
        path = f"/v1/simulations/{simulation_id}"
        found = client.read("get_simulation", path)
        if found is not None and found["status"] == "done" and found["applied_at"] is None:
            client.write("apply", "POST", f"{path}/apply?reason=soak")
            client.simulations.remove(simulation_id)
            return


def deal_with_dead_letter(client: Client) -> None:
    """Retry a move that failed for good. If its step can be done by hand, do it and skip the step instead."""
    listed = client.read("list_moves", "/v1/moves?dead_letter=open&limit=20")
    if listed is None or not listed["items"]:
        return
    move = client.chance.choice(listed["items"])
    path = f"/v1/moves/{move['move_id']}"
    if move["step"] in _BY_HAND:
        client.site.world.do_by_hand(move)
        client.write("skip_step", "POST", f"{path}/skip", _WHY)
    else:
        client.write("retry_move", "POST", f"{path}/retry", _WHY)


def _region(client: Client) -> str:
    return f"/v1/regions/{client.site.region}"
