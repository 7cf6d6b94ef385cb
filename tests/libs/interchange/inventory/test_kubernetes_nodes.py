"""Read `kubectl get nodes -o json` of four kinds of clusters, and of other documents."""

import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.inventory import Inventory
from libs.interchange.files.errors import InterchangeError
from libs.interchange.inventory import kubernetes_nodes
from libs.interchange.inventory.field_mapping import mapping_of
from libs.interchange.inventory.kubernetes_nodes import NODE_FIELDS, load_nodes
from libs.interchange.inventory.sources import SourceFormat, format_of, load_source

NODES = Path(__file__).parent / "nodes"


def load(name: str, **options: object) -> Inventory:
    return load_source(NODES / name, SourceFormat.KUBERNETES, **options)  # type: ignore[arg-type]


def rows(inventory: Inventory) -> list[tuple[str, ...]]:
    t = inventory.topology
    return [
        (
            str(name),
            str(t.datacenters[t.msb_datacenter[msb]]),
            str(t.msbs[msb]),
            str(t.racks[rack]),
            str(kind),
            str(state),
        )
        for name, msb, rack, kind, state in zip(
            inventory.server,
            inventory.msb,
            inventory.rack,
            inventory.hardware_types[inventory.hardware_type],
            inventory.unavailability,
            strict=True,
        )
    ]


def refused(content: object, **options: object) -> InterchangeError:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    with pytest.raises(InterchangeError) as error:
        load_nodes(io.BytesIO(text), "nodes.json", mapping_of(NODE_FIELDS, **options))  # type: ignore[arg-type]
    return error.value


def node(name: str = "a", **labels: str) -> dict[str, object]:
    known = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/rack": "r"}
    return {"metadata": {"name": name, "labels": known | {"node.kubernetes.io/instance-type": "hw"} | labels}}


def test_a_cluster_in_a_cloud_needs_to_know_its_racks_only() -> None:
    with pytest.raises(InterchangeError) as error:
        load("eks.json")
    [problem] = error.value.problems
    assert (problem.row, problem.field) == (0, "rack")
    assert "node ip-10-0-41-17.eu-west-1.compute.internal and 1 more have no label" in problem.message
    assert "--map rack=LABEL" in problem.message
    assert "--default rack=VALUE" in problem.message
    found = rows(load("eks.json", keys=["rack=topology.k8s.aws/network-node-layer-3"]))
    assert found == [
        (
            "ip-10-0-41-17.eu-west-1.compute.internal",
            "eu-west-1a",
            "eu-west-1a",
            "nn-0c7d2e5f3a1b4c6d8",
            "m5.4xlarge",
            "none",
        ),
        (
            "ip-10-0-77-201.eu-west-1.compute.internal",
            "eu-west-1b",
            "eu-west-1b",
            "nn-09f1e2d3c4b5a6978",
            "m5.4xlarge",
            "planned",
        ),
    ]


def test_labels_name_further_domains() -> None:
    keys = ["rack=topology.k8s.aws/network-node-layer-3", "domain:network_block=topology.k8s.aws/network-node-layer-3"]
    found = load("eks.json", keys=keys)
    [kind] = found.topology.kinds
    nodes = json.loads((NODES / "eks.json").read_text())["items"]
    labels = [one["metadata"]["labels"]["topology.k8s.aws/network-node-layer-3"] for one in nodes]
    assert (kind.name, kind.names_of(found.domain[:, 0]).tolist()) == ("network_block", labels)
    with pytest.raises(InterchangeError) as error:
        load("eks.json", keys=[keys[0], "domain:network_block=no.such/label"])
    [problem] = error.value.problems
    assert problem.field == "domain:network_block"
    assert problem.message == (
        "no node has a label no.such/label: name the right one with --map domain:network_block=KEY"
    )


def test_labels_are_joined_and_an_unknown_state_is_down() -> None:
    block = "cloud.google.com/gce-topology-block+cloud.google.com/gce-topology-subblock"
    inventory = load("gke.json", keys=[f"rack={block}"])
    assert [(row[3], row[5]) for row in rows(inventory)] == [("4b7c-1d02", "unplanned"), ("4b7c-1d03", "none")]
    assert inventory.figures["vcpu"].tolist() == [32, 31.85]
    assert inventory.attributes() == {"n2-standard-32": {"memory_gib": 126}}  # their cores differ, so cores are omitted


def test_a_cluster_without_labels_stands_on_defaults() -> None:
    defaults = ["datacenter=lab", "msb=lab", "rack={server}", "hardware_type={vcpu}c-{memory_gib}g"]
    assert rows(load("kind.json", defaults=defaults)) == [
        ("kind-worker", "lab", "lab", "kind-worker", "8c-16g", "none"),
        ("kind-worker2", "lab", "lab", "kind-worker2", "8c-16g", "unplanned"),
    ]


def test_a_mapping_file_and_what_the_command_line_changes_of_it() -> None:
    found = rows(load("bare_metal.json", mapping_file=NODES / "bare_metal.toml"))
    assert found == [
        ("a-16", "fra-1", "msb-2", "msb-2-r07", "epyc-9654-768g", "none"),
        ("a-17", "fra-1", "msb-3", "msb-3-r07", "192c-755g", "none"),
    ]
    with pytest.raises(InterchangeError, match="another MSB"):
        load("bare_metal.json", mapping_file=NODES / "bare_metal.toml", keys=["rack=dc.example.com/rack"])
    keys = ["datacenter=dc.example.com/site", "msb=dc.example.com/power", "rack=dc.example.com/power"]
    with pytest.raises(InterchangeError, match=r"a-17 has no label dc\.example\.com/sku"):
        load("bare_metal.json", keys=[*keys, "hardware_type=dc.example.com/sku"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keys": ["rack"]}, "write FIELD=VALUE"),
        ({"keys": ["shelf=x"]}, "is not a field; fields are server, datacenter"),
        ({"defaults": ["msb={rack}"]}, "{rack} is not known here; known are {server}, {datacenter}, {vcpu}"),
        ({"file": {"rack": {"label": "x"}}}, "rack.label: is not known"),
        ({"file": {"rack": {"keys": [1]}}}, "is not a name or a list of names"),
        ({"file": {"rack": {"default": 1}}}, "is not a string"),
    ],
)
def test_rules_that_mean_nothing_are_refused(options: dict[str, object], says: str) -> None:
    assert says in str(refused({"items": [node()]}, **options))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not JSON"),
        (b'{"items": [NaN]}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        ([], "is not a list of nodes"),
        ({"items": {}}, "is not a list of nodes"),
        ({"items": []}, "holds no nodes"),
        ({"items": [{"kind": "Pod"}]}, "is not a node"),
        ({"items": [3]}, "is not a node"),
        ({"items": [node(), node()]}, "this server appears twice"),
        ({"items": [node("a\u0000b")]}, "do not print"),
        ({"items": [node("x" * 201)]}, "longer than 200 characters"),
        ({"items": [node(**{"node.kubernetes.io/instance-type": "a/b"})]}, "cannot contain /"),
        ({"items": [node() | {"metadata": {"name": 3}}]}, "metadata.name, row 0: is not a string"),
        ({"items": [node() | {"metadata": "x"}]}, "metadata, row 0: is not an object"),
        ({"items": [node() | {"status": {"capacity": {"cpu": "many"}}}]}, "is not a quantity such as 96"),
        ({"items": [node() | {"status": {"capacity": {"cpu": True}}}]}, "is not a quantity such as 96"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused(content: object, says: str) -> None:
    assert says in str(refused(content))


def test_a_file_that_is_too_long_says_how_to_cut_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_nodes, "BYTES_MAX", 10)
    assert "jq" in str(refused({"items": [node()]}))


def test_a_list_that_was_cut_down_to_labels_is_of_nodes_that_are_up() -> None:
    inventory = load_nodes(io.BytesIO(json.dumps({"items": [node()]}).encode()), "nodes.json")
    assert inventory.unavailability.tolist() == ["none"]
    assert inventory.attributes() == {}


@pytest.mark.parametrize(
    ("quantity", "gib"),
    [
        ("1Gi", 1),
        ("1048570Ki", 1),
        ("1073741824", 1),
        ("8e9", 7),
        ("1.6Gi", 2),
        ("400G", 373),
        ("8796093022208000m", 8192),
    ],
)
def test_quantities(quantity: str, gib: float) -> None:
    one = node() | {"status": {"capacity": {"memory": quantity}}}
    inventory = load_nodes(io.BytesIO(json.dumps({"items": [one]}).encode()), "nodes.json")
    assert inventory.figures["memory_gib"].tolist() == pytest.approx([gib])


def test_the_format_is_told_by_the_name(tmp_path: Path) -> None:
    assert format_of(tmp_path) is SourceFormat.REGION
    assert format_of(Path("nodes.JSON")) is SourceFormat.KUBERNETES
    assert format_of(Path("a.csv")) is SourceFormat.CSV
    with pytest.raises(InterchangeError, match="--format region"):
        format_of(Path("nodes"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
parts = {"metadata": json_values, "spec": json_values, "status": json_values}
labels = st.dictionaries(st.sampled_from([key for rule in NODE_FIELDS.values() for key in rule.keys]), st.text())
nodes = st.fixed_dictionaries({"metadata": st.fixed_dictionaries({"name": st.text(), "labels": labels})}) | (
    st.fixed_dictionaries({}, optional=parts | {"kind": st.sampled_from(["Node", "Pod"])})
)


@settings(deadline=None, max_examples=150)
@given(items=st.lists(nodes | json_values, max_size=4))
def test_whatever_the_list_says_it_is_read_or_refused_by_name(items: list[object]) -> None:
    with suppress(InterchangeError):
        inventory = load_nodes(io.BytesIO(json.dumps({"items": items}).encode("utf-8", "surrogatepass")), "nodes.json")
        assert len(inventory) == len(items) == len(set(inventory.server))


@settings(deadline=None, max_examples=100)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused_by_name(content: bytes) -> None:
    refused(content)
