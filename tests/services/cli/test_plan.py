"""Check the output of `plimsoll plan` for a run."""

from services.cli.plan import _short

RUN = {"solve_run_id": 2, "region": "west", "status": "committed", "plan_id": 4, "error": None, "bundle": None}


def test_a_gap_that_is_penalty_is_told_as_such() -> None:
    report = {"solve_s": 3.0, "gap": 5.2368, "penalty": 4700.0, "least_penalty": 500.0, "total": 6000.0}
    told = _short({**RUN, "report": report})["report"]
    assert told["gap"] == "at most 523.68% above the best possible"
    assert told["penalty"] == "4,700 of the total, for missing capacity or affinity; every plan has at least 500"


def test_a_run_says_whose_servers_its_gap_counts() -> None:
    said = "The gap and the costs before count 16 servers of a lost domain as present; the costs after do not."
    told = _short({**RUN, "report": {"gap": 0.01, "as_solved": {"message": said, "total": 5.0}}})["report"]
    assert told == {"gap": "at most 1.00% above the best possible", "as_solved": said}


def test_a_run_without_penalty_says_nothing_of_it() -> None:
    told = _short({**RUN, "report": {"solve_s": 3.0, "gap": 0.01, "penalty": 0.0, "least_penalty": 0.0}})["report"]
    assert told == {"solve_s": 3.0, "gap": "at most 1.00% above the best possible", "penalty": 0.0}


def test_a_rest_of_sums_of_floats_is_no_penalty() -> None:
    told = _short({**RUN, "report": {"penalty": 1.22e-11, "least_penalty": 0.0}})["report"]
    assert told == {"penalty": 0.0}


def test_bounds_of_chosen_domains_are_told_as_such() -> None:
    report = {"gap": 0.01, "penalty": 4700.0, "least_penalty": 500.0, "chosen_domains": True}
    told = _short({**RUN, "report": report})["report"]
    assert told["gap"] == "at most 1.00% above the best possible in the domains that it chose"
    assert told["penalty"].endswith("every plan in the domains that it chose has at least 500")
