"""Which faults there are, how often each is dealt, and which are off unless they are asked for."""

from __future__ import annotations

from collections.abc import Mapping

WEIGHTS: Mapping[str, int] = {
    "kill": 4,  # one of the platform's processes
    "kill_pool": 4,  # a pool process of a worker, in the middle of its job
    "kill_backend": 1,  # PostgreSQL then ends all connections and recovers
    "kill_postmaster": 1,
    "end_connections": 2,  # as pg_terminate_backend does
    "cut": 2,  # connections break in the middle of what they carry
    "stall": 2,  # the network holds everything back
    "pause_pool": 2,  # a pool process stands still for longer than its lease
    "pause": 2,  # so does the API, the scheduler, or a worker
    "fill_disk": 1,
    "jump_clock": 2,
    "no_receiver": 2,  # the webhook's receiver is away
}
"""Fault -> how many cards of a deck have it. Every deck is dealt to its end: each comes as often as it says."""
PROVOKE: Mapping[str, str] = {
    "unknown_outcomes": "steps time out while the receiver is away, and the Clock jumps past what a step may take",
    "clock_back": "the Clock jumps back, by an hour too",
    "forgotten_cleaning": "moves are forgotten after a day of the Clock",
}
"""Faults that the platform is known not to stand, off unless they are asked for: design 0007 says which and why."""


def cards(small_disk: bool) -> dict[str, int]:
    """The cards of one deck: what can be done here -> how often."""
    return {name: weight for name, weight in WEIGHTS.items() if name != "fill_disk" or small_disk}
