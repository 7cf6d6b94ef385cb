"""The faults and their weights."""

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
    "no_systems": 2,  # the portals and the receiver of shifts are away
}
"""Number of cards of each fault in a deck. The soak draws faults like cards and uses up each deck, so every fault comes
as often as its weight says.
"""


def cards(small_disk: bool) -> dict[str, int]:
    """Return the number of cards of each fault that is possible here."""
    return {name: weight for name, weight in WEIGHTS.items() if name != "fill_disk" or small_disk}
