"""Put planning inputs over REST."""

import json

from libs.interchange.planning_inputs.tables import INPUT_TABLES


def put(client, name, rows, **query):
    """Put rows as JSON, after any present version."""
    version = client.get(f"/v1/planning-inputs/{name}").json()["version"]
    return put_after(client, name, version, rows, **query)


def put_after(client, name, version, rows, **query):
    match = {"If-Match": f'"{version}"'}
    return client.put(f"/v1/planning-inputs/{name}", json={"rows": rows}, headers=match, params=query)


def put_csv(client, name, content, version=0, **query):
    given = {"If-Match": f'"{version}"', "Content-Type": "text/csv"}
    return client.put(f"/v1/planning-inputs/{name}", content=content, headers=given, params=query)


def put_world(client, folder, minute_zero="2026-11-02T00:00:00Z", skip=()):
    """Put all inputs of a world folder except the skipped ones."""
    for name in INPUT_TABLES:
        if name in skip:
            continue
        if name == "policy":
            answer = put(client, name, [json.loads((folder / "policy.json").read_text())])
        elif (folder / f"{name}.csv").exists():
            version = client.get(f"/v1/planning-inputs/{name}").json()["version"]
            answer = put_csv(client, name, (folder / f"{name}.csv").read_bytes(), version, minute_zero=minute_zero)
        else:
            continue
        assert answer.status_code == 200, (name, answer.text)
