"""Hold both overlays against the schemas of Kubernetes, and against rules that the schemas do not know."""

from pathlib import Path
from typing import Any

from libs.reconcile import jobs
from tests.builders.deployment import HELPERS, OVER_HTTP, PROCESSES, program, runs, unknown_variables, version
from tests.k8s.conftest import Objects

WITHOUT_SCHEMA = {"prometheusrule", "servicemonitor", "scaledobject", "triggerauthentication"}
"""Kinds of operators, which the validator does not know: it warns and goes on."""


def of_kind(objects: Objects, *kinds: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in objects if one["kind"] in kinds}


def pods(objects: Objects) -> dict[str, dict[str, Any]]:
    return {n: one["spec"]["template"] for n, one in of_kind(objects, "Deployment", "StatefulSet", "Job").items()}


def ours(objects: Objects) -> dict[str, dict[str, Any]]:
    return {
        name: pod
        for name, pod in pods(objects).items()
        if pod["metadata"]["labels"].get("app.kubernetes.io/name") == "plimsoll"
    }


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Return whether a label selector matches. An empty one matches all."""
    for one in selector.get("matchExpressions", ()):
        assert one["operator"] == "In"
        if labels.get(one["key"]) not in one["values"]:
            return False
    return selector.get("matchLabels", {}).items() <= labels.items()


def test_each_object_fits_its_schema(rendered: Path) -> None:
    told = program("kubernetes-validate", "--strict", "-k", "1.37", rendered)
    lines = (told.stdout + told.stderr).splitlines()
    assert lines
    bad = [
        line
        for line in lines
        if not line.startswith("INFO")
        and not (line.startswith("WARN") and any(kind in line.lower() for kind in WITHOUT_SCHEMA))
    ]
    assert bad == []
    assert told.returncode == 0


def test_every_process_of_the_platform_is_there(objects: Objects) -> None:
    commands = {name: runs(pod["spec"]["containers"][0]["args"]) for name, pod in ours(objects).items()}
    migrate = f"migrate-{version().replace('.', '-')}"
    assert commands == PROCESSES | HELPERS | {migrate: "services.portal.main set-up"}, (
        "a Job's name carries the version"
    )


def test_our_pods_are_restricted(objects: Objects) -> None:
    for name, pod in pods(objects).items():
        spec = pod["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True, name
        assert context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        assert not any(spec.get(field) for field in ("hostNetwork", "hostPID", "hostIPC")), name
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert container["resources"]["limits"]["memory"], name
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
    namespaces = of_kind(objects, "Namespace").values()
    assert [n["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] for n in namespaces] == ["restricted"]


def test_what_runs_for_long_has_probes_and_a_disruption_budget(objects: Objects) -> None:
    budgets = [b["spec"] for b in of_kind(objects, "PodDisruptionBudget").values()]
    for name in PROCESSES | HELPERS:
        [container] = ours(objects)[name]["spec"]["containers"]
        assert {"startupProbe", "livenessProbe"} <= container.keys(), name
        labels = ours(objects)[name]["metadata"]["labels"]
        assert [b["maxUnavailable"] for b in budgets if selects(b["selector"], labels)] == [1], name
        if name not in OVER_HTTP:
            assert "/tmp/alive" in str(container["livenessProbe"]), name
    assert ours(objects)["api"]["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_a_worker_may_end_what_it_has_begun(objects: Objects) -> None:
    [settings] = [s["data"] for n, s in of_kind(objects, "ConfigMap").items() if "PLIMSOLL_SOLVE_S_MAX" in s["data"]]
    longest = {"solver": "PLIMSOLL_SOLVE_S_MAX", "planner": "PLIMSOLL_PLAN_SOLVE_S_MAX"}
    for name, variable in longest.items():
        assert ours(objects)[name]["spec"]["terminationGracePeriodSeconds"] >= float(settings[variable]) + 30


def test_no_helper_runs_before_an_overlay_asks_for_it(objects: Objects) -> None:
    [settings] = [s["data"] for n, s in of_kind(objects, "ConfigMap").items() if "PLIMSOLL_SOLVE_S_MAX" in s["data"]]
    shared = settings.get("PLIMSOLL_JOB_PARTS_SHARED") == "true"
    for name in HELPERS:
        assert (of_kind(objects, "Deployment")[name]["spec"]["replicas"] > 0) is shared


def test_each_pod_has_a_network_policy(objects: Objects) -> None:
    policies = [p["spec"] for p in of_kind(objects, "NetworkPolicy").values()]
    for name, pod in pods(objects).items():
        labels = pod["metadata"]["labels"]
        mine = [p for p in policies if selects(p["podSelector"], labels)]
        assert {kind for p in mine for kind in p["policyTypes"]} == {"Ingress", "Egress"}, name
        reached = any(p.get("ingress") for p in mine)
        assert reached == (name in OVER_HTTP | {"postgres", "queue"}), name


def test_each_variable_is_read_by_some_process(objects: Objects) -> None:
    names = {v["name"] for pod in ours(objects).values() for v in pod["spec"]["containers"][0].get("env", ())}
    for one in of_kind(objects, "ConfigMap").values():
        names |= one["data"].keys()
    assert len(names) > 5
    assert unknown_variables(names) == set()


def test_the_pages_see_no_secret(objects: Objects) -> None:
    spec = ours(objects)["pages"]["spec"]
    assert "secret" not in str(spec["volumes"]).lower()
    assert {mount["name"] for mount in spec["containers"][0]["volumeMounts"]} == {v["name"] for v in spec["volumes"]}
    given = {one["name"]: one.get("value") for one in spec["containers"][0]["env"]}
    assert given["PLIMSOLL_SECRETS_DIR"] == "", "else the process ends at once, because the folder is not there"


def test_no_secret_is_in_the_files(objects: Objects) -> None:
    assert of_kind(objects, "Secret") == {}


def test_one_version_everywhere(objects: Objects) -> None:
    images = {pod["spec"]["containers"][0]["image"] for pod in ours(objects).values()}
    assert images == {f"plimsoll:{version()}"}


def test_every_reference_leads_somewhere(objects: Objects) -> None:
    maps, deployments = of_kind(objects, "ConfigMap"), of_kind(objects, "Deployment")
    for pod in ours(objects).values():
        assert pod["spec"]["serviceAccountName"] in of_kind(objects, "ServiceAccount")
        for source in pod["spec"]["containers"][0]["envFrom"]:
            assert source["configMapRef"]["name"] in maps
    for scaler in of_kind(objects, "ScaledObject", "HorizontalPodAutoscaler").values():
        target = deployments[scaler["spec"]["scaleTargetRef"]["name"]]
        assert "replicas" not in target["spec"], "else each apply would undo the scaler"
    for service in of_kind(objects, "Service").values():
        assert any(
            selects({"matchLabels": service["spec"]["selector"]}, p["metadata"]["labels"])
            for p in pods(objects).values()
        )


def test_kinds_of_jobs_that_scalers_count_exist(objects: Objects) -> None:
    kinds = {value for name, value in vars(jobs).items() if name.isupper() and isinstance(value, str)}
    for scaler in of_kind(objects, "ScaledObject").values():
        query = scaler["spec"]["triggers"][0]["metadata"]["query"]
        asked = set(query.partition("AND kind")[2].split("'")[1::2])
        assert asked
        assert asked <= kinds
