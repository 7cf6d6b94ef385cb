"""Check explanations for people: conditions first, one idea a sentence."""

from dataclasses import replace

from libs.domain.domain_kind import WorstDomain
from libs.ras.explain.deciders import Decider, Deciders, Outcome, PlaceChange
from libs.ras.explain.explanation import Explanation, Holding, TypeUse
from libs.ras.explain.move import Standing
from libs.ras.explain.words import claim, paragraph

SAME = {"saves": 0.0, "short_rru": 0.0, "short_rru_now": 0.0, "changes": ()}
NO = Outcome(decides=False, **SAME)  # type: ignore[arg-type]
UNSETTLED = Outcome(decides=None, **SAME)  # type: ignore[arg-type]
FEWER = Outcome(
    decides=True,
    saves=10.0,
    short_rru=0.0,
    short_rru_now=0.0,
    changes=(PlaceChange(msb="msb-00", hardware_type="hw-a", with_it=12, without_it=0),),
)
OTHERS = Outcome(
    decides=True,
    saves=0.0,
    short_rru=0.0,
    short_rru_now=0.0,
    changes=(
        PlaceChange(msb="msb-00", hardware_type="hw-a", with_it=3, without_it=0),
        PlaceChange(msb="msb-01", hardware_type="hw-b", with_it=0, without_it=3),
    ),
)


def decider(name: str, now: Outcome, afresh: Outcome | None, subject: str | None = None) -> Decider:
    return Decider(name=name, subject=subject, now=now, afresh=afresh)


def explanation(*deciders: Decider) -> Explanation:
    return Explanation(
        reservation="web",
        capacity_rru=12.0,
        survives_msb_loss=True,
        standing=Standing(total_rru=14.1, worst_msb_rru=2.0, shortfall_rru=0.0, off_affinity_rru=0.0),
        survived=("MSB",),
        worst_msb="msb-00",
        worst=WorstDomain(kind="MSB", domain="msb-00", rru=2.0),
        servers=12,
        holdings=(
            Holding(msb="msb-00", hardware_type="hw-a", servers=7, rru=9.1),
            Holding(msb="msb-01", hardware_type="hw-b", servers=5, rru=5.0),
        ),
        types=(
            TypeUse(hardware_type="hw-a", rru_per_server=1.3, servers=7, free_servers=142),
            TypeUse(hardware_type="hw-b", rru_per_server=1.0, servers=5, free_servers=129),
        ),
        cost=None,  # type: ignore[arg-type]
        shortage=None,
        deciders=Deciders(could_save=0.0, settled=True, deciders=deciders),
        last_solve=None,
    )


def test_a_claim_begins_with_its_condition() -> None:
    assert claim(decider("Capacity", NO, FEWER)) == (
        "If it asked for no capacity and moves cost nothing, it would cost 10 less and it would need 12 servers fewer."
    )
    assert claim(decider("MsbLoss", NO, OTHERS)) == (
        "If it did not have to survive the loss of an MSB and moves cost nothing, "
        "3 servers would be of another type or in another MSB."
    )
    assert claim(decider("Supply", NO, NO, "hw-a")) == (
        "If every MSB had more free hw-a, no other servers would serve it better."
    )
    assert claim(decider("MoveCost", UNSETTLED, None)) == (
        "If moves cost nothing, other servers might serve it better; the time did not suffice to find out."
    )


def test_a_paragraph_says_what_is_held_and_what_decides() -> None:
    told = paragraph(
        explanation(
            decider("Capacity", NO, FEWER),
            decider("BufferCost", NO, NO),
            decider("Supply", NO, OTHERS, "hw-a"),
            decider("Supply", NO, OTHERS, "hw-b"),
            decider("MoveCost", FEWER, None),
        )
    )
    assert told == (
        "web needs 12 RRU whichever MSB is lost, and its targets give 14.1 RRU in 12 servers of 2 MSBs. "
        "msb-00 holds the most of it, 2 RRU; without msb-00 12.1 RRU remain. "
        "It has 7 hw-a and 5 hw-b. If every MSB had more hw-a (142 free now) or hw-b (129 free now), "
        "other servers would serve it better. "
        "Its servers are decided by the capacity that it asks for, the number of free hw-a and the number of free "
        "hw-b, and not by the price of the embedded buffer. "
        "The price of moves keeps them: if moves cost nothing, it would cost 10 less and it would need 12 servers "
        "fewer. No solve has changed anything in this region yet."
    )


def test_the_worst_loss_of_a_further_kind_is_named_with_its_kind() -> None:
    other = replace(
        explanation(),
        survived=("MSB", "network_block"),
        worst=WorstDomain(kind="network_block", domain="block-3", rru=4.0),
    )
    assert paragraph(other).startswith(
        "web needs 12 RRU whichever MSB or network_block is lost, and its targets give 14.1 RRU in 12 servers of "
        "2 MSBs. The most of it is in network_block block-3, 4 RRU; without network_block block-3 10.1 RRU remain."
    )
    unplaced = WorstDomain(kind="network_block", domain="servers without a network_block", rru=4.0)
    assert "The most of it is in the servers without a network_block, 4 RRU" in paragraph(
        replace(other, worst=unplaced)
    )
