"""An approval says in words what it would change."""

from services.pages.parts.changes import rows_of

EXCEPTED = {"reservation_id": 3, "reservation": "web", "below_rru": 2.5, "seconds": 720.0, "servers": 3}


def below(**one: object) -> tuple[str, str, str]:
    change = {"plan_id": 7, "servers": 12, "seconds": 720.0, "window_s": 3600.0, "reservations": [EXCEPTED | one]}
    *head, row = rows_of("below_hold", None, change)
    assert head == [
        ("Servers that leave below promises", "wait", "12 may leave"),
        ("Time in which they may begin", "–", "1 h from the approval"),
    ]
    return row


def test_departures_below_hold_say_what_a_reservation_holds_before_and_meanwhile() -> None:
    meanwhile = "at least 37.5 RRU, 2.5 RRU below its promise, for about 12 min; 3 servers may leave"
    assert below(promised_rru=40.0) == ("web", "40 RRU promised", meanwhile)


def test_a_request_that_waits_is_below_what_was_granted_of_it_or_below_itself() -> None:
    meanwhile = "at least 37.5 RRU, 2.5 RRU below its request, for about 12 min; 3 servers may leave"
    assert below(promised_rru=30.0, asked_rru=40.0) == ("web", "30 of 40 RRU promised", meanwhile)
    meanwhile = "at least 27.5 RRU, 2.5 RRU below what was granted of it, for about 12 min; 3 servers may leave"
    assert below(promised_rru=30.0, asked_rru=40.0, below_rru=12.5)[2] == meanwhile


def test_an_older_approval_says_by_how_much_it_is_below() -> None:
    assert below() == ("web", "–", "2.5 RRU below its promise for about 12 min; 3 servers may leave")


def test_a_reservation_whose_servers_only_wait_for_others_keeps_its_promise() -> None:
    row = below(below_rru=0.0, servers=1, promised_rru=40.0)
    assert row == ("web", "holds its promise", "holds its promise; 1 server may leave after others")


def test_other_kinds_list_their_fields() -> None:
    assert rows_of("region_policy", {"spread_cost": 2}, {"spread_cost": 3}) == [("Spread cost", "2", "3")]
