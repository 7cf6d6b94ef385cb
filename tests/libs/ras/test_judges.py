"""Compare our numbers with the judges of the interchange format, which share no code with us."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from libs.assignment import Limits
from libs.interchange.region.assignment import save_assignment
from libs.interchange.region.read import load_region
from libs.plan_check.check import check_plan
from libs.ras.solve import plan_target_bindings

pytestmark = pytest.mark.shared


def script(shared, name, *arguments):
    done = subprocess.run(
        [sys.executable, shared / "bench" / name, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout) if done.stdout else None


@pytest.mark.parametrize("options", [(), ("--mixed",), ("--failed-msb",)])
def test_the_judges_agree_on_every_number(shared, tmp_path, options):
    folder = tmp_path / "region"
    script(shared, "region.py", folder, "--servers", 1500, "--reservations", 24, "--seed", 11, *options)
    snapshot = load_region(folder).snapshot
    snapshot = replace(snapshot, policy=replace(snapshot.policy, fix_first=False))  # as the format has it
    found = plan_target_bindings(snapshot, Limits(neighbourhoods_max=4, exact_columns_max=0))
    assert check_plan(snapshot, found.plan) == []
    save_assignment(tmp_path / "a.parquet", snapshot, found.plan.target)
    judged, bound = (
        script(shared, "evaluate.py", folder, tmp_path / "a.parquet"),
        script(shared, "lower_bound.py", folder),
    )
    ours = found.report.as_dict()
    for name in ("objective", "penalty", "total", "total_without_rack"):
        assert ours[name] == pytest.approx(judged[name], rel=1e-9, abs=1e-6)
    for name in ("stability", "rack_spread", "msb_spread", "buffer", "moved_idle", "moved_in_use", "acquired"):
        assert ours["terms"][name] == pytest.approx(judged[name], rel=1e-9, abs=1e-6)
    for name in ("lower_bound", "least_penalty"):  # ours sees whole servers, that of the judge cuts them in pieces
        assert ours[name] >= bound[name] - 1e-4 * max(1.0, bound[name])
    assert ours["lower_bound"] <= judged["total_without_rack"] + 1e-6
    assert ours["least_penalty"] <= judged["penalty"] + 1e-6
    gap = (judged["total_without_rack"] - bound["lower_bound"]) / (bound["lower_bound"] - bound["least_penalty"])
    assert 0.0 <= ours["gap"] < gap
