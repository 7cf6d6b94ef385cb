"""Set and read the limits of the uplinks of racks by requests."""

from fastapi.testclient import TestClient

from tests.builders.uploaded_region import pages

PATH = "/v1/regions/west/uplinks"


def test_limits_are_set_as_a_whole_and_seen_beside_what_racks_send(operator: TestClient, imported: None) -> None:
    found = operator.get(PATH)
    assert (found.status_code, found.json()["generation"], found.json()["limits"]) == (200, 0, {})
    assert (found.json()["fullest"], found.json()["racks_above"]) == ([], 0)
    body = {"limits": {"rack-00": 40}, "others_gbit": 100, "reason": "the new switches"}
    after = operator.put(PATH, json=body, headers={"If-Match": found.headers["ETag"]})
    assert after.status_code == 200, after.text
    brief = operator.get(PATH, params={"limits": "false"}).json()
    limits = after.json()["limits"]
    assert brief == after.json() | {"limits": {}}
    assert brief["racks_limited"] == len(limits)
    assert limits.pop("rack-00") == 40
    assert limits
    assert set(limits.values()) == {100.0}
    assert after.json()["fullest"][0] == {"rack": "rack-00", "limit_gbit": 40, "current_gbit": 0, "target_gbit": 0}
    assert operator.put(PATH, json=body, headers={"If-Match": found.headers["ETag"]}).status_code == 409
    [entry] = [one for one in pages(operator, "/v1/audit-entries") if one["action"] == "put_rack_uplinks"]
    assert (entry["actor"], entry["reason"], entry["before"]) == ("olga", "the new switches", {"limits": {}})
    none = operator.put(PATH, json={"limits": {}}, headers={"If-Match": after.headers["ETag"]})
    assert (none.json()["limits"], none.json()["fullest"]) == ({}, [])


def test_wrong_limits_are_refused_by_field(operator: TestClient, imported: None) -> None:
    def fields(body: dict[str, object]) -> list[str]:
        answer = operator.put(PATH, json=body, headers={"If-Match": '"0"'})
        assert answer.status_code == 422, answer.text
        return [error["field"] for error in answer.json()["errors"]]

    assert fields({"limits": {"rack-0": 5, "rack-00": 5}}) == ["limits.rack-0"]
    assert fields({"limits": {"rack-00": 0}}) == ["limits.rack-00"]
    assert fields({"limits": {}, "others_gbit": 2e6}) == ["others_gbit"]
