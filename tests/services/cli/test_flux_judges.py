"""Judge models and plans by the interchange format's judge, which shares no code with us."""

import json
import subprocess
import sys

import pytest

from libs.interchange.world.placement_plan import placement_plan_document, save_placement_plan
from libs.interchange.world.service_models import save_service_models
from services.cli.flux.offline import make_models, make_plan

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(("seed", "options"), [(31, ()), (32, ("--services", "60", "--regions", "9", "--hours", "30"))])
def test_the_judge_finds_nothing_wrong(shared, tmp_path, seed, options):
    world = tmp_path / "world"
    make = [shared / "bench" / "flux_world.py", world, "--seed", str(seed), *options]
    subprocess.run([sys.executable, *make], check=True)
    model, plan = tmp_path / "model.json", tmp_path / "plan.json"
    made = make_models(world)
    save_service_models(model, made.words, made.models)
    planned = make_plan(world, model)
    document = placement_plan_document(planned.words, planned.models, planned.inputs, planned.solved.plan)
    save_placement_plan(plan, document)
    done = subprocess.run(
        [sys.executable, shared / "bench" / "flux_evaluate.py", world, model, plan, "--truth"],
        capture_output=True,
        text=True,
        check=False,
    )
    judged = json.loads(done.stdout)
    assert judged["violations"] == {}
    assert judged["objective"] == pytest.approx(planned.solved.solution.objective, rel=1e-6)
    found = judged["model"]
    assert found["attribution_distance_mean"] <= 0.03
    assert found["attribution_distance_max"] <= 0.12
    assert found["capacity_error_mean"] <= 0.03
    assert found["baseline_error_mean"] <= 0.02
    assert found["metric_right"] >= 0.85
    assert found["presence_error_max"] <= 0.02
    assert found["thin_flagged_low"] == found["thin_services"]
    assert found["others_flagged_low"] <= 0.2 * (60 if options else 40)


@pytest.mark.parametrize("growth", [(0.2, 0.1, 0.15), (-0.3, -0.1, 0.2), (-1.0, 0.0, 0.0)])
def test_the_judge_knows_the_traffic_of_a_plan_with_falls(shared, tmp_path, growth):
    """Of a service whose residual must stay, the judge also asks that capacity falls with the traffic."""
    world, plan = tmp_path / "world", tmp_path / "plan.json"
    subprocess.run([sys.executable, shared / "bench" / "flux_world.py", world, "--seed", "33"], check=True)
    path = world / "traffic_growth.csv"
    products = sorted({line.split(",")[1] for line in path.read_text().splitlines()[1:]})
    rows = [f"{step},{product},{by}" for step, by in enumerate(growth, 1) for product in products[:2]]
    path.write_text("\n".join(["step,product,growth", *rows]) + "\n")
    model = tmp_path / "model.json"
    made = make_models(world)
    save_service_models(model, made.words, made.models)
    planned = make_plan(world, model)
    save_placement_plan(
        plan, placement_plan_document(planned.words, planned.models, planned.inputs, planned.solved.plan)
    )
    done = subprocess.run(
        [sys.executable, shared / "bench" / "flux_evaluate.py", world, model, plan],
        capture_output=True,
        text=True,
        check=False,
    )
    judged = json.loads(done.stdout)
    assert set(judged["violations"]) <= ({"residual_kept"} if min(growth) < 0 else set())
    assert (judged["objective"] == pytest.approx(planned.solved.solution.objective, rel=1e-6)) == (growth[0] >= 0)
