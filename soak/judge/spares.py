"""Shared buffers in a history. Their servers are spare: they have joined nothing, and run nothing."""

from __future__ import annotations

from soak.history import History


def shared_buffers(history: History) -> frozenset[tuple[str, str]]:
    """Return the regions and names of the shared buffers, as the list of reservations at the end has them."""
    listed = history.final.get("reservations", [])
    return frozenset((row["region"], row["name"]) for row in listed if row.get("kind") == "shared_buffer")
