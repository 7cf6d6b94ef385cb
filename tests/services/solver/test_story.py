"""Request a solve over REST, follow it, and stop it."""

from collections.abc import Callable

from fastapi.testclient import TestClient

from libs.domain.job import JobStatus
from libs.jobs.progress import ProgressRecorder
from libs.reconcile.clock import SystemClock
from libs.store.plans.solve_runs import record_progress, start_solve_run
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from services.solver.reconcilers.solve_bindings import SolveBindings


def test_run_now(client: TestClient, database: Database, solver: Callable[[], SolveBindings]) -> None:
    assert client.post("/v1/solve-runs", json={"region": "nowhere"}).status_code == 404
    asked = client.post("/v1/solve-runs", json={"region": "west"})
    assert (asked.status_code, asked.json()["after_solve_run_id"]) == (202, None)
    again = client.post("/v1/solve-runs", json={"region": "west"})
    assert again.json()["job_id"] == asked.json()["job_id"], "one that waits is enough"
    with database.snapshot() as tx:
        [job] = list_jobs(tx, status=JobStatus.QUEUED).items
    assert (job.kind, job.subject) == ("solve", "west")

    solver().reconcile()
    [run] = client.get("/v1/solve-runs", params={"region": "west"}).json()["items"]
    assert (run["status"], run["trigger"]) == ("committed", "test")
    waves = run["report"]["waves"]
    assert waves["message"] == "2 waves, about 11 min, no reservation falls below its promise"
    assert waves["moves"] == run["report"]["changes"]
    assert client.get(f"/v1/solve-runs/{run['solve_run_id']}").json() == run
    stopped = client.post(f"/v1/solve-runs/{run['solve_run_id']}/cancel")
    assert (stopped.status_code, stopped.json()["code"]) == (409, "wrong_phase")
    assert client.get("/v1/solve-runs/999").status_code == 404


def test_a_run_that_is_told_to_stop_hears_of_it(client: TestClient, database: Database) -> None:
    with database.write() as tx:
        run = start_solve_run(tx, 1, trigger="test", seed=0, parent_plan_id=None, now=SystemClock().now())
    assert client.post(f"/v1/solve-runs/{run}/cancel").json()["cancel_requested"]
    with database.write() as tx:
        assert record_progress(tx, run, {"phase": "search"})
    with ProgressRecorder(database, run, record_progress) as progress:
        progress.report("search", 10.0, 8.0, 0.25)
        for _ in range(600):
            if progress.cancelled():
                break
            SystemClock().sleep(0.05)
        assert progress.cancelled()
    found = client.get(f"/v1/solve-runs/{run}").json()["progress"]
    assert {name: found[name] for name in ("phase", "incumbent", "bound", "gap")} == {
        "phase": "search",
        "incumbent": 10.0,
        "bound": 8.0,
        "gap": 0.25,
    }
    assert [{**point, "at_s": None} for point in found["curve"]] == [
        {"at_s": None, "phase": "search", "incumbent": 10.0, "bound": 8.0}
    ]


def test_the_curve_of_a_short_run_is_kept_after_its_end(database: Database, client: TestClient) -> None:
    with database.write() as tx:
        run = start_solve_run(tx, 1, trigger="test", seed=0, parent_plan_id=None, now=SystemClock().now())
    with ProgressRecorder(database, run, record_progress) as progress:
        progress.report("build")
        progress.report("search", 10.0, 8.0, 0.25)
        progress.report("search", 9.0, 8.5, 0.06)
    curve = client.get(f"/v1/solve-runs/{run}").json()["progress"]["curve"]
    assert [(point["phase"], point.get("incumbent")) for point in curve] == [
        ("build", None),
        ("search", 10.0),
        ("search", 9.0),
    ]
