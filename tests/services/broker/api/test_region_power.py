"""Set and read the limits on power of a region by requests."""

from fastapi.testclient import TestClient

from tests.builders.uploaded_region import pages

PATH = "/v1/regions/west/power"


def test_limits_are_set_as_a_whole_and_seen_beside_what_is_drawn(operator: TestClient, imported: None) -> None:
    found = operator.get(PATH)
    assert (found.status_code, found.json()["generation"], found.json()["limits"]) == (200, 0, [])
    assert found.json()["types_without_watts"] == ["hw-a"]
    match = {"If-Match": operator.get("/v1/hardware-types/hw-a").headers["ETag"]}
    watts = {"attributes": {"idle_w": 100, "full_w": 300}}
    assert operator.put("/v1/hardware-types/hw-a", json=watts, headers=match).status_code == 200
    body = {"limits": [{"domain": "msb-00", "limit_w": 5000, "headroom": 0.2}], "reason": "the new breaker"}
    after = operator.put(PATH, json=body, headers={"If-Match": found.headers["ETag"]})
    assert after.status_code == 200, after.text
    assert after.json()["limits"] == [{"kind": "MSB", "domain": "msb-00", "limit_w": 5000, "headroom": 0.2}]
    first = after.json()["domains"][0]
    assert (first["domain"], first["limit_w"], first["allowed_w"]) == ("msb-00", 5000, 4000)
    assert first["full_w"] > first["current_w"] > 0
    assert after.json()["types_without_watts"] == []
    assert operator.put(PATH, json=body, headers={"If-Match": found.headers["ETag"]}).status_code == 409
    [entry] = [one for one in pages(operator, "/v1/audit-entries") if one["action"] == "put_power_limits"]
    assert (entry["actor"], entry["reason"], entry["before"]) == ("olga", "the new breaker", {"limits": []})
    none = operator.put(PATH, json={"limits": []}, headers={"If-Match": after.headers["ETag"]})
    assert (none.json()["limits"], none.json()["domains"][0]["limit_w"]) == ([], None)


def test_wrong_limits_are_refused_by_field(operator: TestClient, imported: None) -> None:
    def fields(*limits: dict[str, object]) -> list[str]:
        answer = operator.put(PATH, json={"limits": limits}, headers={"If-Match": '"0"'})
        assert answer.status_code == 422, answer.text
        return [error["field"] for error in answer.json()["errors"]]

    right = {"domain": "msb-00", "limit_w": 5000}
    assert fields(right, right) == ["limits.1.domain"]
    assert fields(right | {"domain": "msb-0"}, right | {"kind": "row"}) == ["limits.0.domain", "limits.1.kind"]
    assert fields(right | {"limit_w": 0}) == ["limits.0.limit_w"]
    assert fields(right | {"headroom": 0.95}) == ["limits.0.headroom"]
