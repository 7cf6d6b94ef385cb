"""The commands that request capacity share the options of a spec, declared once."""

import inspect
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import typer

from libs.domain.domain_limits import DomainLimit
from libs.domain.reservation import ReservationSpec
from libs.web.specs import SpecIn
from services.cli import requests
from services.cli.cleared import EMPTY
from services.cli.main import app
from services.cli.specs import spec_of


@pytest.mark.parametrize("name", ["create", "resize", "amend"])
def test_a_command_has_every_option_of_a_spec(name: str) -> None:
    options = set(inspect.signature(spec_of).parameters)
    command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined, arg-type]
    found = {parameter.name for parameter in command.params}
    assert found >= options
    assert "spec" not in found


def test_what_is_given_is_the_spec_and_the_rest_is_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    monkeypatch.setattr(requests, "send", lambda body, **how: sent.append((body, how["dry_run"])))
    arguments = ["web", "-r", "west", "--capacity", "3", "--rru", "hw-a=1.5", "--dry-run"]
    typer.main.get_command(app).main(["resize", *arguments], standalone_mode=False)
    spec = {"capacity_rru": 3.0, "rru": {"hw-a": 1.5}}
    assert sent == [({"kind": "resize", "region": "west", "reservation": "web", "spec": spec}, True)]


def test_limits_of_one_kind_are_one_entry() -> None:
    spec = spec_of(within=["network_block=1"], servers_max=["msb=2"], share_max=["msb=0.25", "datacenter=0.5"])
    assert spec == {
        "domain_limits": [
            {"kind": "network_block", "domains_max": 1},
            {"kind": "msb", "servers_max": 2, "share_max": 0.25},
            {"kind": "datacenter", "share_max": 0.5},
        ]
    }
    with pytest.raises(typer.BadParameter, match="network_block=1"):
        spec_of(within=["network_block"])


def test_one_name_with_two_values_is_refused() -> None:
    for given in ({"within": ["msb=1", "msb=2"]}, {"rru": ["hw-a=1", "hw-a=2"]}):
        with pytest.raises(typer.BadParameter, match="is given twice"):
            spec_of(**given)


def test_resources_are_pairs_of_a_name_and_an_amount() -> None:
    assert spec_of(resource=["cores=1000", "memory_gib=4000.5"]) == {
        "resources": {"cores": 1000.0, "memory_gib": 4000.5}
    }
    with pytest.raises(typer.BadParameter, match="memory_gib=4000"):
        spec_of(resource=["cores"])


def test_resources_can_be_dropped() -> None:
    assert spec_of(no_resources=True) == {"resources": {}}
    assert "resources" not in spec_of()
    with pytest.raises(typer.BadParameter, match="resources is given by another option"):
        spec_of(resource=["cores=1000"], no_resources=True)


def test_every_list_can_be_emptied_and_every_limit_lifted() -> None:
    """Each name that can be cleared is a field of a request, and its value one that the interface takes."""
    spec = spec_of(clear=[*EMPTY])
    assert spec == {name.replace("-", "_"): value for name, value in EMPTY.items()}
    assert SpecIn.model_validate(spec).model_fields_set == spec.keys()
    held = ReservationSpec(
        capacity_rru=3,
        rru={"hw-a": 1.0},
        affinity={"dc-00": 1.0},
        datacenters=("dc-00",),
        domain_limits=(DomainLimit(kind="msb", servers_max=1),),
        msb_share_max=0.5,
        msb_spread_limit=0.5,
        rack_spread_limit=0.5,
        resources={"cores": 1.0},
        survives_loss_of=("power_row",),
    )
    bare = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0})
    assert SpecIn.model_validate(spec).to_spec(held) == bare
    begins, ends = datetime(2026, 11, 2, tzinfo=UTC), datetime(2026, 11, 9, tzinfo=UTC)
    later = replace(bare, affinity_follows="web", starts_at=begins, ends_at=ends)
    assert SpecIn.model_validate(spec).to_spec(later) == bare
    listed = {
        name
        for name, field in SpecIn.model_fields.items()
        if isinstance(field.get_default(call_default_factory=True), list | dict)
    }
    assert listed <= spec.keys(), "a list that the command line cannot empty"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"clear": ["datacentres"]},
            "'datacentres' cannot be cleared: give one of affinity, affinity-follows, datacenters",
        ),
        ({"clear": ["datacenters"], "datacenter": ["dc-1"]}, "datacenters is given by another option"),
        ({"clear": ["domain-limits"], "within": ["msb=1"]}, "domain-limits is given by another option"),
        ({"clear": ["ends-at"], "ends_at": "2026-11-02"}, "ends-at is given by another option"),
    ],
)
def test_clearing_says_what_cannot_be(given: dict, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        spec_of(**given)


def test_a_guest_is_two_options() -> None:
    assert spec_of(guest_of="web", guest_share=0.3) == {"guest_of": "web", "guest_share": 0.3}


def test_one_cost_unit_is_singular(capsys: pytest.CaptureFixture[str]) -> None:
    way = {"change": {"capacity_rru": 1.0}, "phase": "granted", "cost_units": 1.0}
    requests._tell_room("granted", {"cost_units": 1.0})
    requests._tell_ways([way])
    assert capsys.readouterr().out.split("\n")[:2] == [
        "It would count 1 cost unit.",
        "With capacity_rru 1 it would be granted, for 1 cost unit.",
    ]
