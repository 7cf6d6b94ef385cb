"""The judge finds each planted fault in its recorded history, and each fault is planted in the right place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from soak.history import History
from soak.judge import judge
from soak.mutants.plant import MUTANTS

HISTORIES = Path(__file__).parent / "mutants"
ROOT = Path(__file__).parents[2]
SITE = ROOT / "soak" / "mutants" / "site"
REPLACED = {
    "lost_update": "libs.store.regions.region_policies:update_policy",
    "double_join": "services.mover.moves_plan:steps_of",
    "dropped_request": "libs.web.idempotency:Writer.once",
    "stale_commit": "libs.store.plans.plans:commit_plan",
    "skipped_clean": "services.mover.moves_plan:steps_of",
    "forgotten_lease": "libs.store.platform.jobs:take_back_expired",
    "repeated_order": "libs.flux.execution.outcomes:judge_answer",
    "early_success": "libs.flux.execution.outcomes:judge_answer",
}
ASK = """
import importlib, operator, sys
module, _, name = sys.argv[1].partition(":")
print(operator.attrgetter(name)(importlib.import_module(module)).__module__)
"""


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_judge_finds_it_in_a_recorded_history(path: Path) -> None:
    mutant, rule = path.stem.split(".")
    assert mutant in MUTANTS
    assert rule in {violation.rule for violation in judge(History.read(path))}


def test_each_has_such_a_history() -> None:
    assert {path.stem.split(".")[0] for path in HISTORIES.glob("*.jsonl")} == set(MUTANTS)


def module_of(replaced: str, **env: str) -> str:
    command = [sys.executable, "-c", ASK, replaced]
    given = {name: value for name, value in os.environ.items() if name != "SOAK_MUTANT"} | env
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_it_takes_the_place_of_what_is_right(mutant: str) -> None:
    path = os.pathsep.join(map(str, (SITE, ROOT)))
    assert module_of(REPLACED[mutant], PYTHONPATH=path, SOAK_MUTANT=mutant) == "soak.mutants.plant"


def test_without_the_folder_in_the_path_no_name_plants_anything() -> None:
    replaced = REPLACED["skipped_clean"]
    assert module_of(replaced, PYTHONPATH=str(ROOT), SOAK_MUTANT="skipped_clean") == replaced.partition(":")[0]


def test_the_platform_knows_nothing_of_mutants() -> None:
    for folder in ("libs", "services"):
        for path in (ROOT / folder).rglob("*.py"):
            assert "mutant" not in path.read_text().lower(), path
