"""Set the figures and the cost units of a hardware type by requests."""

from fastapi.testclient import TestClient

from tests.builders.uploaded_region import pages


def test_a_hardware_type_gets_its_figures(operator: TestClient, imported: None) -> None:
    match = {"If-Match": operator.get("/v1/hardware-types/hw-a").headers["ETag"]}
    body = {"attributes": {"vcpu": 96, "maker": "anybody", "gpu": False}}
    after = operator.put("/v1/hardware-types/hw-a", json=body, headers=match)
    assert after.status_code == 200
    assert after.json()["attributes"] == body["attributes"]
    assert operator.put("/v1/hardware-types/hw-a", json=body, headers=match).status_code == 409
    assert [t["name"] for t in pages(operator, "/v1/hardware-types")] == ["hw-a"]
    wrong = operator.put("/v1/hardware-types/hw-a", json={"attributes": {"a": [1]}}, headers={"If-Match": '"2"'})
    assert wrong.status_code == 422
    guest = operator.put("/v1/hardware-types/hw-a", json={"attributes": {"guest:web": 1}}, headers={"If-Match": '"2"'})
    [error] = guest.json()["errors"]
    assert (guest.status_code, error["field"]) == (422, "attributes.guest:web")
    assert "choose another" in error["message"]


def test_a_hardware_type_gets_its_cost_units(operator: TestClient, imported: None) -> None:
    path = "/v1/hardware-types/hw-a"
    assert operator.get(path).json()["cost_units"] is None
    match = {"If-Match": operator.get(path).headers["ETag"]}
    after = operator.put(f"{path}/cost-units", json={"cost_units": 1.6, "reason": "prices"}, headers=match)
    assert (after.status_code, after.json()["cost_units"]) == (200, 1.6)
    assert operator.put(f"{path}/cost-units", json={"cost_units": 2}, headers=match).status_code == 409
    for wrong in (0, -1, 1e7, "x"):
        answer = operator.put(f"{path}/cost-units", json={"cost_units": wrong}, headers={"If-Match": '"2"'})
        assert [error["field"] for error in answer.json()["errors"]] == ["cost_units"]
    [entry] = [entry for entry in pages(operator, "/v1/audit-entries") if entry["action"] == "put_cost_units"]
    told = (entry["actor"], entry["before"], entry["after"], entry["reason"])
    assert told == ("olga", {"cost_units": None}, {"cost_units": 1.6}, "prices")
