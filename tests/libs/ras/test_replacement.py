"""Check the choice of spare servers for lost ones."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.domain_limits import DomainLimit
from libs.domain.replacement import LossVerdict
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import require_clean
from libs.plan_check.replacement import check_replacements
from libs.ras.replacement import plan_replacements
from tests.builders.failures import failures_snapshot, swaps

PLAIN = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
BUFFER = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
SPECS = {"web": PLAIN, "spare": BUFFER}
KIND = {"spare": "shared_buffer"}
WEB = {"server-00": "web", "server-01": "web", "server-02": "web"}


def plan(**keywords):
    failures = failures_snapshot(**{"reservations": SPECS, "kind": KIND, "servers_per_rack": 6, **keywords})
    drawn = plan_replacements(failures)
    require_clean(check_replacements(failures, drawn.plan))
    return swaps(failures, drawn.plan.target), drawn.verdict


def test_a_lost_server_changes_places_with_a_spare_one() -> None:
    found, verdicts = plan(current={**WEB, "server-06": "spare", "server-07": "spare"}, down={"server-01"})
    assert found == {"server-06": "web", "server-01": "spare"}
    assert verdicts == (LossVerdict.DRAWN,)


def test_what_is_not_short_draws_nothing_and_what_is_short_no_more_than_it_lost() -> None:
    spare = {f"server-{i:02d}": "spare" for i in range(6, 12)}
    four = {**WEB, "server-03": "web"}
    assert plan(current={**four, **spare}, down={"server-01"}) == ({}, (LossVerdict.COVERED,))
    found, verdicts = plan(current={**four, **spare}, down={"server-01", "server-02"})
    assert (len(found), sorted(verdicts)) == (2, ["covered", "drawn"])
    short = {"web": ReservationSpec(capacity_rru=50, rru={"hw-a": 1.0}, survives_msb_loss=False), "spare": BUFFER}
    found, _ = plan(reservations=short, current={**four, **spare}, down={"server-01"})
    assert Counter(found.values()) == {"web": 1, "spare": 1}


def test_a_reservation_that_lacks_a_resource_draws_although_it_has_its_capacity() -> None:
    spec = ReservationSpec(
        capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False, resources={"memory_gib": 3 * 128}
    )
    bound = {**WEB, "server-06": "spare"}
    asks = {"reservations": {"web": spec, "spare": BUFFER}, "attributes": {"hw-a": {"memory_gib": 128}}}
    found, verdicts = plan(current=bound, down={"server-01"}, **asks)
    assert verdicts == (LossVerdict.DRAWN,)
    assert found == {"server-06": "web", "server-01": "spare"}
    _, verdicts = plan(current={**bound, "server-03": "web"}, down={"server-01"}, **asks)
    assert verdicts == (LossVerdict.COVERED,)


def test_a_spare_server_comes_from_the_domain_with_which_every_loss_is_survived() -> None:
    spread = ReservationSpec(
        capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False, survives_loss_of=("network_block",)
    )
    blocks = {f"server-{i:02d}": f"b{i % 3}" for i in range(12)}
    spare = {f"server-{i:02d}": "spare" for i in range(6, 12) if i != 8}
    found, verdicts = plan(
        reservations={"web": spread, "spare": BUFFER},
        current={**WEB, **spare},
        down={"server-02"},
        domains={"network_block": blocks},
    )
    assert verdicts == (LossVerdict.DRAWN,), "1 RRU would be left without b0"
    assert found == {"server-11": "web", "server-02": "spare"}, "only b2 helps, and server-11 alone is spare there"


def test_a_spare_server_comes_from_a_preferred_domain() -> None:
    prefers = DomainLimit(kind="network_block", domains_preferred=1)
    web = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False, domain_limits=(prefers,))
    blocks = {f"server-{i:02d}": "b0" if i < 3 or i == 9 else f"b{i % 2 + 1}" for i in range(12)}
    bound = {**WEB, **{f"server-{i:02d}": "spare" for i in range(6, 12)}}
    asked = {"current": bound, "down": {"server-01"}, "domains": {"network_block": blocks}}
    assert plan(**asked)[0] == {"server-06": "web", "server-01": "spare"}
    found, verdicts = plan(reservations={"web": web, "spare": BUFFER}, **asked)
    assert verdicts == (LossVerdict.DRAWN,)
    assert found == {"server-09": "web", "server-01": "spare"}, "server-09 alone adds no block to b0"
    two = replace(web, domain_limits=(replace(prefers, domains_preferred=2),))
    found, _ = plan(reservations={"web": two, "spare": BUFFER}, **asked)
    assert found == {"server-06": "web", "server-01": "spare"}, "a second block costs nothing"


def test_a_server_lost_with_its_place_never_draws() -> None:
    current = {**WEB, "server-06": "spare"}
    assert plan(current=current, down={"server-01"}, with_place={"server-01"}) == ({}, (LossVerdict.WITH_PLACE,))
    # An MSB counts as lost once more than half of it is down, even one server at a time.
    down = {f"server-{i:02d}" for i in range(4)}
    assert plan(current=current, down=down) == ({}, (LossVerdict.WITH_PLACE,) * 3)
    found, _ = plan(current=current, down={"server-00", "server-01", "server-05"})
    assert "server-06" in found


def test_an_empty_or_missing_buffer_and_a_useless_type_are_told_apart() -> None:
    current = {**WEB, "server-06": "spare"}
    assert plan(current=current, down={"server-01", "server-06"}) == ({}, (LossVerdict.BUFFER_EMPTY,))
    assert plan(current=WEB, reservations={"web": PLAIN}, down={"server-01"}) == ({}, (LossVerdict.NO_BUFFER,))
    other = {
        "web": ReservationSpec(capacity_rru=3, rru={"hw-b": 1.0}, survives_msb_loss=False),
        "spare": BUFFER,
    }
    assert plan(current=current, reservations=other, hardware_types=("hw-a", "hw-b"), down={"server-01"}) == (
        {},
        (LossVerdict.USELESS,),
    )


def test_the_embedded_buffer_stays_whole_where_it_can() -> None:
    """web survives the loss of an MSB, so a server in its largest MSB would be useless."""
    survives = {"web": ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}), "spare": BUFFER}
    bound = {name: "web" for i in range(3) for name in (f"server-{6 * i:02d}", f"server-{6 * i + 1:02d}")}
    current = {**bound, "server-04": "spare", "server-16": "spare"}
    found, _ = plan(msbs=3, reservations=survives, current=current, down={"server-12"})
    assert found == {"server-16": "web", "server-12": "spare"}


def test_a_ready_server_comes_before_one_on_its_way_unless_that_breaks_something() -> None:
    current = {**WEB, "server-06": "spare", "server-07": "spare"}
    found, _ = plan(current=current, down={"server-01"}, not_ready={"server-06"})
    assert "server-07" in found


def test_the_affinity_is_kept_where_it_can_be() -> None:
    local = {
        "web": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity={"dc-00": 1.0}),
        "spare": BUFFER,
    }
    current = {**WEB, "server-05": "spare", "server-06": "spare", "server-07": "spare"}
    found, _ = plan(datacenters=2, reservations=local, current=current, down={"server-01"})
    assert "server-05" in found


def test_when_the_buffer_is_scarce_who_lacks_the_larger_share_comes_first() -> None:
    specs = {
        "large": ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False),
        "small": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False),
        "spare": BUFFER,
    }
    large = {f"server-{i:02d}": "large" for i in range(5)}
    current = {**large, "server-06": "small", "server-07": "spare"}
    found, verdicts = plan(reservations=specs, current=current, down={"server-00", "server-06"})
    assert found == {"server-07": "small", "server-06": "spare"}
    assert verdicts == (LossVerdict.DRAWN, LossVerdict.BUFFER_EMPTY)


def test_when_the_buffer_is_scarce_the_higher_class_comes_first() -> None:
    specs = {
        "large": ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False, priority=3),
        "small": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False),
        "spare": BUFFER,
    }
    current = {f"server-{i:02d}": "large" for i in range(5)} | {"server-06": "small", "server-07": "spare"}
    found, _ = plan(reservations=specs, current=current, down={"server-00", "server-06"})
    assert found == {"server-07": "large", "server-00": "spare"}


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_fails_the_plan_is_clean_and_a_second_look_draws_nothing_more(data: st.DataObject) -> None:
    names = [f"server-{i:02d}" for i in range(24)]
    specs = {
        "a": ReservationSpec(capacity_rru=data.draw(st.integers(0, 8)), rru={"hw-a": 1.0, "hw-b": 1.5}),
        "b": ReservationSpec(capacity_rru=4, rru={"hw-b": 1.0}, survives_msb_loss=False, msb_spread_limit=0.3),
        "sa": BUFFER,
        "sb": ReservationSpec(capacity_rru=2, rru={"hw-b": 1.0}, survives_msb_loss=False),
    }
    binding = {n: data.draw(st.sampled_from([*specs, ""])) for n in names}
    failures = failures_snapshot(
        msbs=4,
        racks_per_msb=2,
        servers_per_rack=3,
        hardware_types=("hw-a", "hw-b"),
        reservations=specs,
        kind={"sa": "shared_buffer", "sb": "shared_buffer"},
        current={n: r for n, r in binding.items() if r},
        down=data.draw(st.sets(st.sampled_from(names), max_size=6)),
        with_place=data.draw(st.sets(st.sampled_from(names), max_size=3)),
    )
    drawn = plan_replacements(failures)
    require_clean(check_replacements(failures, drawn.plan))
    assert len(drawn.verdict) == failures.lost.sum()
    changed = int((drawn.plan.target != failures.fleet.servers.target).sum())
    assert changed == 2 * drawn.verdict.count(LossVerdict.DRAWN)
    swapped_away = (drawn.plan.target != failures.fleet.servers.target) & failures.lost
    assert not (swapped_away & failures.with_place).any()
    assert np.array_equal(plan_replacements(failures).plan.target, drawn.plan.target)
