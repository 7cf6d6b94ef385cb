"""The faults, their weights, and the faults that are off by default."""

from __future__ import annotations

from collections.abc import Mapping

WEIGHTS: Mapping[str, int] = {
    "kill": 4,  # one of the platform's processes
    "kill_pool": 4,  # a pool process of a worker, in the middle of its job
    "kill_backend": 1,  # PostgreSQL then closes all connections and recovers
    "kill_postmaster": 1,
    "end_connections": 2,  # as pg_terminate_backend does
    "cut": 2,  # connections break in the middle of a message
    "stall": 2,  # the network delays everything
    "pause_pool": 2,  # a pool process stops for longer than its lease
    "pause": 2,  # the API, the scheduler or a worker stops
    "fill_disk": 1,
    "jump_clock": 2,
    "no_receiver": 2,  # the webhook's receiver is away
}
"""Number of cards of each fault in a deck. Each deck is dealt to its end, so every fault comes this often."""
PROVOKE: Mapping[str, str] = {
    "unknown_outcomes": "steps time out while the receiver is away, and the Clock jumps past what a step may take",
    "clock_back": "the Clock jumps back, by an hour too",
    "forgotten_cleaning": "moves are forgotten after a day of the Clock",
}
"""Faults that the platform is known not to survive, off by default. Design 0007 says which they are and why."""


def cards(small_disk: bool) -> dict[str, int]:
    """Return the number of cards of each fault that is possible here."""
    return {name: weight for name, weight in WEIGHTS.items() if name != "fill_disk" or small_disk}
