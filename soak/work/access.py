"""Deeds of admins: create tokens, rotate their secrets, and revoke them."""

from __future__ import annotations

from soak.work.client import Client


def make_token(client: Client) -> None:
    """Create a token that stays unused."""
    if not client.is_admin:
        return
    body = {"name": client.next_name("t"), "role": "viewer"}
    answer = client.caller.write("create_token", "POST", "/v1/tokens", body, key="")
    if answer is not None and answer.done:
        client.tokens.append(answer.body["token_id"])


def rotate_token(client: Client) -> None:
    """Rotate the secret of a token."""
    if client.tokens:
        path = f"/v1/tokens/{client.chance.choice(client.tokens)}"
        found = client.read_etag("get_token", path)
        if found is not None:
            body = {"grace_s": 0}
            client.caller.write("rotate_token", "POST", f"{path}/rotate", body, generation=found[1], key="")


def revoke_token(client: Client) -> None:
    """Revoke a token."""
    if len(client.tokens) > 1:
        client.write("revoke_token", "DELETE", f"/v1/tokens/{client.tokens.pop(0)}")
