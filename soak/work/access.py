"""What admins do: make tokens, change their secrets, take them away."""

from __future__ import annotations

from soak.work.client import Client


def make_token(client: Client) -> None:
    """Make a token that nobody uses."""
    if not client.is_admin:
        return
    body = {"name": client.next_name("t"), "role": "viewer"}
    answer = client.caller.write("create_token", "POST", "/v1/tokens", body, key="")
    if answer is not None and answer.done:
        client.tokens.append(answer.body["token_id"])


def rotate_token(client: Client) -> None:
    """Change a secret."""
    if client.tokens:
        path = f"/v1/tokens/{client.chance.choice(client.tokens)}"
        found = client.read_etag("get_token", path)
        if found is not None:
            body = {"grace_s": 0}
            client.caller.write("rotate_token", "POST", f"{path}/rotate", body, generation=found[1], key="")


def revoke_token(client: Client) -> None:
    """Take a token away; it opens nothing any more."""
    if len(client.tokens) > 1:
        client.write("revoke_token", "DELETE", f"/v1/tokens/{client.tokens.pop(0)}")
