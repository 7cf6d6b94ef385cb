"""The questions over regions."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.builders.world import write_world
from tests.questions.ask import Ask, Row

SERVICE = "service-00"


@pytest.fixture(scope="module")
def plan(ask: Ask) -> int:
    """The target plan."""
    [target] = [one["placement_plan_id"] for one in ask.cli("flux", "plans") if one["target"]]
    return int(target)


@pytest.fixture(scope="module")
def steps(ask: Ask, plan: int) -> Row:
    return ask.get(f"/v1/placement-plans/{plan}")["steps"][0]


@pytest.fixture(scope="module")
def models(ask: Ask, plan: int) -> Row:
    """The models of the plan by service, from the table."""
    rows = ask.rows(
        """SELECT service, document FROM service_models JOIN placement_plans USING (plan_run_id)
        WHERE placement_plan_id = :plan""",
        plan=plan,
    )
    return {one["service"]: one["document"] for one in rows}


def now_and_planned(ask: Ask, plan: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the share of each product's traffic per region: now, and as planned."""
    places = ask.get(f"/v1/placement-plans/{plan}/places")
    return {
        one["product"]: dict(zip(places["regions"], zip(one["now"], one["planned"], strict=True), strict=True))
        for one in places["products"]
    }


def test_44_why_a_service_grows_in_a_region(ask: Ask, plan: int, steps: Row, models: Row) -> None:
    changes = [one for one in ask.cli("flux", "plans", plan, "--changes")["changes"] if one["service"] == SERVICE]
    traffic, model = now_and_planned(ask, plan), models[SERVICE]
    assert changes
    for one in changes:
        region = one["region"]
        assert one["after"] == pytest.approx(steps["capacity"][SERVICE][region], abs=1e-6)
        assert one["before"] == pytest.approx(model["baseline"][region], abs=1e-6)
        parts = {
            product: model["capacity"] * share * (traffic[product][region][1] - traffic[product][region][0])
            for product, share in model["attribution"].items()
        }
        assert sum(parts.values()) + one["residual"] == pytest.approx(one["after"] - one["before"], abs=1e-3)
        left_out = parts.keys() - {because["product"] for because in one["because"]}
        assert all(abs(parts[product]) < 0.01 for product in left_out)
        for because in one["because"]:
            assert because["capacity"] == pytest.approx(parts[because["product"]], abs=1e-3)
    assert ask.get(f"/v1/placement-plans/{plan}/changes", service=SERVICE)["changes"] == changes


def test_45_whose_traffic_moves_where_and_what_waits_for_whom(ask: Ask, plan: int) -> None:
    shifts = [one for one in ask.cli("flux", "plans", plan, "--dag")["nodes"] if one["phase"] == "shift"]
    for product, regions in now_and_planned(ask, plan).items():
        flow: Counter = Counter()
        for one in shifts:
            if one["product"] == product:
                flow[one["region"]] -= one["after"]
                flow[one["to_region"]] += one["after"]
        grown = sum(planned - now for now, planned in regions.values())
        for name, (now, planned) in regions.items():  # what has not moved there is growth
            assert -1e-4 < planned - now - flow[name] < grown + 1e-4
    [moving] = [one for one in ask.cli("execution", "list") if one["state"] == "running"]
    actions = ask.cli("execution", "actions", moving["plan_execution_id"])
    waiting = {one["position"] for one in actions if "approve" in one["possible"]}
    pending = ask.rows("SELECT position FROM approvals WHERE kind = 'plan_action' AND status = 'pending'")
    assert waiting == {one["position"] for one in pending} != set()


def test_46_which_service_is_too_small_after_the_loss_of_a_region(ask: Ask, plan: int, steps: Row, models: Row) -> None:
    told = ask.cli("flux", "plans", plan, "--losses")["estimated"]
    regions = list(steps["capacity"][SERVICE])
    for name in (SERVICE, "service-01"):
        model, needed = models[name], dict.fromkeys(regions, 0.0)
        for lost in regions:
            for region in set(regions) - {lost}:
                need = steps["residual"].get(name, {}).get(region, 0.0)
                for product, share in model["attribution"].items():
                    there = steps["traffic"][product]
                    moved = there[region] * sum(there.values()) / (sum(there.values()) - there[lost])
                    need += model["capacity"] * share * moved
                needed[region] = max(needed[region], need)
        assert told[name]["needed"] == pytest.approx(sum(needed.values()), rel=1e-3)
        planned = steps["capacity"][name]
        lacking = sum(max(0.0, needed[region] - planned[region]) for region in regions)
        assert told[name]["lacking"] == pytest.approx(lacking, rel=1e-2)
    everything = ask.cli("flux", "plans", plan, "--losses")
    places = [*everything["places"], *everything["estimated_places"]]
    assert places
    lines = [line.split() for line in ask.text("flux", "plans", plan, "--losses").splitlines()]
    for place in places[:50]:
        assert any({place["service"], place["region"], place["lost"]} <= set(line) for line in lines), place


def test_47_how_far_a_model_is_from_what_was_measured(ask: Ask) -> None:
    found = ask.cli("flux", "figures", "--service", SERVICE)["models"]
    rows = ask.rows("SELECT plan_run_id, document FROM service_models WHERE service = :name", name=SERVICE)
    stored = {one["plan_run_id"]: one["document"] for one in rows}
    [told] = found["services"]
    for run, one in zip(found["runs"], told["runs"], strict=True):
        model = stored[run["plan_run_id"]]
        assert one["error"] == pytest.approx(model["error"])
        assert one["capacity"] == pytest.approx(sum(model["baseline"].values()))
        off = sum(abs(residual) for residual in model["residual"].values())
        assert one["residual"] == pytest.approx(off / sum(model["baseline"].values()), rel=0.05)
    assert [run["finished_at"] for run in found["runs"]] == sorted(run["finished_at"] for run in found["runs"])


def test_48_what_a_plan_promised_and_what_was_done(ask: Ask) -> None:
    for one in ask.cli("flux", "figures")["executions"]["executions"]:
        number = one["plan_execution_id"]
        actions = ask.get(f"/v1/plan-executions/{number}/actions", limit=1000)["items"]
        sizes = {
            phase: sum(abs(act["after"] - act["before"]) for act in actions if act["phase"] == phase)
            for phase in ("upsize", "downsize")
        }
        assert (one["figures"]["upsize"], one["figures"]["downsize"]) == (sizes["upsize"], sizes["downsize"])
        shifted = sum(act["after"] * act["reached"] for act in actions if act["phase"] == "shift")
        assert one["figures"]["shifted"] == pytest.approx(shifted)
        open_ones = {act["action"] for act in actions if act["state"] != "done"}
        assert bool(open_ones) is (one["state"] != "done")
        listed = {act["action"]: act for act in ask.cli("execution", "actions", number)}
        for name in open_ones:
            assert listed[name]["waiting"] or listed[name]["note"] or listed[name]["possible"]
    rows = ask.rows("SELECT state, count(*) FROM execution_actions WHERE plan_execution_id = :n GROUP BY 1", n=number)
    assert Counter(act["state"] for act in actions) == {one["state"]: one["count"] for one in rows}


def test_49_what_is_free_in_all_regions_at_a_date(ask: Ask) -> None:
    told = ask.cli("get", "supply", "-w", "at=2026-12-31T00:00:00Z")["items"]
    truth = ask.rows(
        """SELECT regions.name AS region, t.name AS type, count(*) FROM servers
        JOIN hardware_types t USING (hardware_type_id) JOIN regions USING (region_id)
        WHERE decommissioned_at IS NULL GROUP BY 1, 2"""
    )
    servers = {(one["region"], one["hardware_type"]): one["servers"] for one in told if one["servers"]}
    assert servers == {(one["region"], one["type"]): one["count"] for one in truth}
    spare = Counter(
        (r, s["type"])
        for r in ("west", "east")
        for s in ask.servers(r)
        if (s["target"] or "").startswith("shared-buffer-")
    )
    assert {
        (one["region"], one["hardware_type"]): one["shared_buffer"] for one in told if one["shared_buffer"]
    } == spare
    for one in told:
        left = one["servers"] + one["returned"] + one["delivered"] - one["retired"]
        assert one["usable"] == left - one["embedded_buffer"] - one["shared_buffer"]


def test_50_what_if_a_product_doubles(ask: Ask, tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    ask.text("flux", "model", world, "--out", tmp_path / "model.json")
    models = json.loads((tmp_path / "model.json").read_text())["services"]
    product = next(iter(models["store"]["attribution"]))
    found = ask.cli("flux", "what-if", "--world", world, "--growth", f"{product}=1")
    grown: Counter = Counter()
    for one in found["capacity"]:
        if one["step"] == found["capacity"][0]["step"]:
            grown[one["service"]] += one["with"] - one["without"]
    assert grown
    for name, more in grown.items():
        assert more == pytest.approx(models[name]["capacity"] * models[name]["attribution"][product], rel=0.02)
