"""Rules about the real state of servers, independent of the platform's own records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from soak.history import History
from soak.judge.spares import shared_buffers
from soak.judge.violation import Violation


@dataclass(slots=True)
class _Server:
    """The real owners of a server, and the reservation whose data is on it."""

    owners: set[str] = field(default_factory=set)
    traces_of: str | None = None


def joined_once(history: History) -> Iterator[Violation]:
    """A server joins a reservation only after it has left every other reservation. It is not cleaned while it is in a
    reservation. It joins no shared buffer: spare servers run nothing.
    """
    for _, said in _followed(history)[1]["joined_once"]:
        yield Violation("joined_once", said)


def joined_clean(history: History) -> Iterator[Violation]:
    """Between two owners, a server is always cleaned."""
    for _, said in _followed(history)[1]["joined_clean"]:
        yield Violation("joined_clean", said)


def world_agrees(history: History) -> Iterator[Violation]:
    """At rest, the platform's reservation of every server is the real one.

    A server that is down may still be in doubt. It is then in the reservation that the platform names, or in none. A
    server of a shared buffer is really in no reservation, and clean.
    """
    if not history.world:
        return
    servers, _ = _followed(history)
    buffers = shared_buffers(history)
    for row in history.at_rest.get("servers", []):
        server = servers[row["region"], row["name"]]
        owners, said = server.owners, {row["current_reservation"]} - {None}
        if (row["region"], row["current_reservation"]) in buffers:
            said = set()
            if server.traces_of is not None:
                left = f"{row['name']} is spare, with what {server.traces_of} left on it"
                yield Violation("world_agrees", left)
        doubted = {row["in_doubt_reservation"]} - {None}
        if not said <= owners <= said | doubted:
            says = row["current_reservation"] or "none"
            yield Violation(
                "world_agrees", f"{row['name']} is in {', '.join(sorted(owners)) or 'none'}; the platform says {says}"
            )


def _followed(history: History) -> tuple[dict[tuple[str, str], _Server], dict[str, list[tuple[float, str]]]]:
    """Return the final state of every server, and the violations on the way.

    Regions begin with all servers free and clean.
    """
    servers: dict[tuple[str, str], _Server] = defaultdict(_Server)
    wrong: dict[str, list[tuple[float, str]]] = {"joined_once": [], "joined_clean": []}
    buffers = shared_buffers(history)
    for done in history.world:
        server, step, about = servers[done["region"], done["server"]], done["step"], f"{done['server']} in move"
        about, at_s = f"{about} {done['move_id']} at {done['at_s']:.2f} s", done["at_s"]
        if step == "preempt":
            server.owners.discard(done["from_reservation"])
        elif step == "clean":
            if server.owners:
                wrong["joined_once"].append((at_s, f"{about} was cleaned while {', '.join(server.owners)} had it"))
            server.traces_of = None
        elif step == "join":
            joins = done["to_reservation"]
            if (done["region"], joins) in buffers:
                wrong["joined_once"].append((at_s, f"{about} joined {joins}, a shared buffer"))
            if server.owners - {joins}:
                others = ", ".join(sorted(server.owners))
                wrong["joined_once"].append((at_s, f"{about} joined {joins}, and had not left {others}"))
            if server.traces_of is not None:
                said = f"{about} joined {joins}, with what {server.traces_of} left on it"
                wrong["joined_clean"].append((at_s, said))
            server.owners.add(joins)
            server.traces_of = joins
    return servers, wrong
