"""Tell a reservation's life over REST, in an owner's order."""

from fastapi.testclient import TestClient

from tests.services.portal.conftest import WEB, create


def test_from_asking_to_returning(client: TestClient, assess_all) -> None:
    # ask
    asked = client.post("/v1/capacity-requests", json=create(), headers={"Idempotency-Key": "web-1"})
    assert asked.status_code == 201, asked.text
    assert asked.json()["status"]["phase"] == "submitted"
    assert "assessed" in asked.json()["status"]["message"]
    location = asked.headers["location"]
    assert (
        client.post("/v1/capacity-requests", json=create(), headers={"Idempotency-Key": "web-1"}).json() == asked.json()
    )

    # assess and grant it
    assess_all()
    request = client.get(location).json()
    assert request["status"]["phase"] == "granted", request
    assert request["status"]["reason"].isidentifier()
    reservation_url = f"/v1/reservations/{request['reservation_id']}"
    found = client.get(reservation_url)
    reservation = found.json()
    assert found.headers["etag"] == '"1"'
    assert reservation["spec"]["capacity_rru"] == 6
    status = reservation["status"]
    assert status["phase"] == "granted"
    condition, ready = status["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "False", "NotThereYet")
    assert "Holds 0 of 6 RRU" in ready["message"]
    assert (status["capacity_rru"], status["held_rru"], status["held_after_msb_loss_rru"]) == (6, 0, 0)
    assert status["target_rru"] == status["target"]["total_rru"]
    assert (condition["type"], condition["status"], condition["observed_generation"]) == ("Granted", "True", 1)
    assert status["shortfall_rru"] == 0
    assert status["embedded_buffer_rru"] == status["target"]["worst_msb_rru"] > 0
    assert status["target"]["total_rru"] - status["embedded_buffer_rru"] >= 6
    assert status["current"]["servers"] == 0
    assert sum(count["target"] for count in status["servers"]) == status["target"]["servers"]

    # an allocator reads its servers, page by page
    decided = client.get(reservation_url + "/servers?binding=target&limit=2").json()
    names = [server["name"] for server in decided["items"]]
    while decided["next_cursor"]:
        params = {"binding": "target", "limit": 2, "cursor": decided["next_cursor"]}
        decided = client.get(reservation_url + "/servers", params=params).json()
        names += [server["name"] for server in decided["items"]]
    assert len(names) == len(set(names)) == status["target"]["servers"]
    assert client.get(reservation_url + "/servers").json() == {"items": [], "next_cursor": None}

    # grow it
    grown = client.patch(reservation_url, json={"spec": {"capacity_rru": 9}}, headers={"If-Match": '"1"'})
    assert grown.status_code == 202, grown.text
    assert client.get(reservation_url).json()["spec"]["capacity_rru"] == 6
    assess_all()
    assert client.get(grown.headers["location"]).json()["status"]["phase"] == "granted"
    reservation = client.get(reservation_url).json()
    assert (reservation["generation"], reservation["spec"]["capacity_rru"]) == (2, 9)
    assert reservation["spec"]["rru"] == WEB["rru"]
    assert reservation["status"]["conditions"][0]["observed_generation"] == 2

    # a stale change is refused
    stale = client.patch(reservation_url, json={"spec": {"capacity_rru": 7}}, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"], stale.json()["found_generation"]) == (409, "stale_generation", 2)

    # return it
    stale = client.delete(reservation_url, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_generation")
    gone = client.delete(reservation_url, headers={"If-Match": '"2"'})
    assert gone.status_code == 200, gone.text
    assert (gone.json()["kind"], gone.json()["status"]["phase"]) == ("delete", "granted")
    assert gone.json()["status"]["numbers"]["released_servers"] == reservation["status"]["target"]["servers"]
    deleted = client.get(reservation_url).json()
    assert deleted["status"]["phase"] == "deleted"
    assert deleted["status"]["granted_rru"] == 0
    assert deleted["status"]["target"]["servers"] == 0
    assert (deleted["status"]["shortfall_rru"], deleted["status"]["current"]["shortfall_rru"]) == (0, 0)
    conditions = {one["type"]: one for one in deleted["status"]["conditions"]}
    assert (conditions["Granted"]["status"], conditions["Granted"]["reason"]) == ("False", "Deleted")
    assert "next solve" not in conditions["Granted"]["message"]
    assert deleted["deleted_at"]
    again = client.delete(reservation_url, headers={"If-Match": f'"{deleted["generation"]}"'})
    assert (again.status_code, again.json()["code"]) == (409, "wrong_phase")
    assert [r["name"] for r in client.get("/v1/reservations?phase=deleted").json()["items"]] == ["web"]

    # its name is free again
    assert client.post("/v1/capacity-requests", json=create()).status_code == 201
    assess_all()
    kinds = [r["kind"] for r in client.get("/v1/capacity-requests?reservation=web").json()["items"]]
    assert kinds == ["create", "delete", "resize", "create"]


def test_more_than_is_free_is_degraded_and_more_than_there_is_is_rejected(client: TestClient, assess_all) -> None:
    spec = {"capacity_rru": 30, "rru": {"hw-a": 1, "hw-b": 1}}
    client.post("/v1/reservations", json={"region": "west", "name": "big", "owner": "team", "spec": spec})
    assess_all()
    client.post("/v1/reservations", json={"region": "west", "name": "late", "owner": "team", "spec": spec})
    late = client.get("/v1/capacity-requests?reservation=late").json()["items"][0]
    assess_all()
    late = client.get(f"/v1/capacity-requests/{late['capacity_request_id']}").json()
    assert late["status"]["phase"] == "degraded", late
    assert late["status"]["numbers"]["short_rru"] > 0
    assert late["status"]["message"]
    reservation = client.get(f"/v1/reservations/{late['reservation_id']}").json()
    assert reservation["status"]["phase"] == "degraded"
    assert reservation["status"]["conditions"][0]["status"] == "False"
    assert reservation["status"]["shortfall_rru"] > 0
    listed = {one["name"]: one["status"] for one in client.get("/v1/reservations?kind=guaranteed").json()["items"]}
    assert {name: (one["granted_rru"], one["capacity_rru"]) for name, one in listed.items()} == {
        "old": (2, 2),
        "big": (30, 30),
        "late": (0, 30),
    }
    assert reservation["status"]["granted_rru"] == 0
    said = {name: one["conditions"][1]["message"] for name, one in listed.items()}
    assert "None of the 30 RRU asked for is granted yet" in said["late"]
    assert "granted" not in said["big"]

    spec = spec | {"capacity_rru": 4000}
    client.post("/v1/reservations", json={"region": "west", "name": "huge", "owner": "team", "spec": spec})
    assess_all()
    huge = client.get("/v1/capacity-requests?phase=rejected").json()["items"][0]
    assert (huge["reservation"], huge["reservation_id"]) == ("huge", None)
    assert huge["status"]["reason"].isidentifier()
    assert client.get("/v1/reservations?name=huge").json()["items"] == []

    # an impossible resize leaves the old spec
    answer = client.patch(
        f"/v1/reservations/{reservation['reservation_id']}",
        json={"spec": {"capacity_rru": 4000}},
        headers={"If-Match": '"1"'},
    )
    assess_all()
    assert client.get(answer.headers["location"]).json()["status"]["phase"] == "rejected"
    assert client.get(f"/v1/reservations/{reservation['reservation_id']}").json()["spec"]["capacity_rru"] == 30


def test_by_count(client: TestClient, assess_all) -> None:
    spec = {"count": 3, "hardware_types": ["hw-b"], "survives_msb_loss": False, "host_profile": "gpu"}
    asked = client.post("/v1/capacity-requests", json=create("farm", spec))
    assess_all()
    reservation_id = client.get(asked.headers["location"]).json()["reservation_id"]
    reservation = client.get(f"/v1/reservations/{reservation_id}").json()
    assert reservation["spec"]["unit"] == "count"
    assert reservation["spec"]["rru"] == {"hw-b": 1.0}
    assert reservation["status"]["target"]["servers"] == 3
    patch = {"spec": {"count": 5}}
    client.patch(f"/v1/reservations/{reservation_id}", json=patch, headers={"If-Match": '"1"'})
    assess_all()
    reservation = client.get(f"/v1/reservations/{reservation_id}").json()
    assert (reservation["spec"]["capacity_rru"], reservation["spec"]["host_profile"]) == (5, "gpu")
    assert reservation["status"]["target"]["servers"] == 5
    patch = {"spec": {"host_profile": "gpu-2"}}
    match = {"If-Match": f'"{reservation["generation"]}"'}
    asked = client.patch(f"/v1/reservations/{reservation_id}", json=patch, headers=match)
    assess_all()
    assert client.get(asked.headers["location"]).json()["status"]["phase"] == "granted"
    reservation = client.get(f"/v1/reservations/{reservation_id}").json()
    assert (reservation["spec"]["capacity_rru"], reservation["spec"]["host_profile"]) == (5, "gpu-2")


def test_a_dry_run_says_what_would_be_and_keeps_nothing(client: TestClient, assess_all) -> None:
    for capacity_rru, phase in ((6, "granted"), (4000, "rejected")):
        answer = client.post(
            "/v1/capacity-requests?dry_run=true", json=create(spec=WEB | {"capacity_rru": capacity_rru})
        )
        assert answer.status_code == 200, answer.text
        assert (answer.json()["capacity_request_id"], answer.json()["status"]["phase"]) == (None, phase)
    body = {"region": "west", "name": "web", "owner": "team", "spec": WEB}
    assert client.post("/v1/reservations?dry_run=true", json=body).json()["status"]["phase"] == "granted"
    delete = {"kind": "delete", "region": "west", "reservation": "old"}
    answer = client.post("/v1/capacity-requests?dry_run=true", json=delete).json()
    assert answer["status"]["numbers"] == {"released_servers": 2, "servers_in_use": 0}
    assert answer["status"]["message"] == "old would be deleted: the mover frees its 2 servers, none of them in use."
    assert client.get("/v1/capacity-requests").json()["items"] == []
    assert client.get("/v1/reservations?name=web").json()["items"] == []
    old = client.get("/v1/reservations?name=old").json()["items"][0]
    url, generation = f"/v1/reservations/{old['reservation_id']}", {"If-Match": f'"{old["generation"]}"'}
    answer = client.patch(url + "?dry_run=true", json={"spec": {"capacity_rru": 3}}, headers=generation)
    assert (answer.status_code, answer.json()["status"]["phase"]) == (200, "granted")
    assert client.get(url).json() == client.get(url).json() | {"generation": old["generation"]}


def test_a_request_can_be_withdrawn_until_it_is_assessed(client: TestClient, assess_all) -> None:
    asked = client.post("/v1/capacity-requests", json=create())
    url, match = asked.headers["location"], {"If-Match": asked.headers["etag"]}
    assert client.delete(url).status_code == 428
    assert client.delete(url, headers={"If-Match": '"99"'}).json()["code"] == "stale_generation"
    gone = client.delete(url, headers=match)
    assert (gone.status_code, gone.json()["status"]["phase"]) == (200, "withdrawn")
    assess_all()
    assert client.get(url).json()["status"]["phase"] == "withdrawn"
    again = client.delete(url, headers={"If-Match": gone.headers["etag"]})
    assert (again.status_code, again.json()["code"]) == (409, "wrong_phase")


def test_an_imported_reservation_says_that_no_solve_has_seen_it(client: TestClient) -> None:
    old = client.get("/v1/reservations?name=old").json()["items"][0]
    assert old["status"]["phase"] == "pending"
    assert old["status"]["conditions"][0]["reason"] == "AwaitingSolve"
    assert "next" in old["status"]["conditions"][0]["message"]
    assert old["status"]["current"]["servers"] == 2


def test_pages_are_stable_while_others_write(client: TestClient) -> None:
    def ask(name: str) -> int:
        return client.post("/v1/capacity-requests", json=create(name)).json()["capacity_request_id"]

    ids = [ask(f"web-{i}") for i in range(5)]
    page = client.get("/v1/capacity-requests?limit=2").json()
    seen = [request["capacity_request_id"] for request in page["items"]]
    ask("web-new")
    while page["next_cursor"]:
        page = client.get("/v1/capacity-requests", params={"limit": 2, "cursor": page["next_cursor"]}).json()
        seen += [request["capacity_request_id"] for request in page["items"]]
    assert seen == ids[::-1]
    answer = client.get("/v1/reservations", params={"cursor": "Y2FwYWNpdHktcmVxdWVzdHM6Mw=="})
    assert answer.json()["errors"][0]["field"] == "cursor"


def test_filters(client: TestClient) -> None:
    client.post("/v1/capacity-requests", json=create("a") | {"owner": "one"})
    client.post("/v1/capacity-requests", json=create("b") | {"owner": "two"})
    for query, names in {
        "owner=one": ["a"],
        "reservation=b": ["b"],
        "phase=submitted": ["b", "a"],
        "phase=granted": [],
        "region=west&owner=two": ["b"],
    }.items():
        found = client.get(f"/v1/capacity-requests?{query}").json()["items"]
        assert [request["reservation"] for request in found] == names, query
    for query, names in {
        "kind=shared_buffer": ["shared-buffer-hw-a"],
        "region=west": ["old", "shared-buffer-hw-a"],
        "owner=nobody": [],
        "phase=pending": ["old", "shared-buffer-hw-a"],
        "phase=granted": [],
    }.items():
        found = client.get(f"/v1/reservations?{query}").json()["items"]
        assert [reservation["name"] for reservation in found] == names, query
