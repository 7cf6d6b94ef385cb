"""An explanation as a paragraph."""

from __future__ import annotations

from collections.abc import Sequence

from libs.ras.explain.deciders import Decider, Outcome
from libs.ras.explain.explanation import Explanation, LastSolve
from libs.ras.explain.move import MoveEffect

_WITHOUT = {
    "Capacity": "if it asked for nothing",
    "MsbLoss": "if it need not survive the loss of an MSB",
    "BufferCost": "if the buffer for an MSB's loss cost nothing",
    "MsbSpread": "without its limit to what one MSB may hold",
    "Affinity": "if it wanted no datacenter",
    "MoveCost": "if moves cost nothing",
    "Supply": "if more {} were free in every MSB",
}
_MEANS = {
    "Capacity": "the capacity it asks for",
    "MsbLoss": "surviving the loss of any one MSB",
    "BufferCost": "the price of the buffer for an MSB's loss",
    "MsbSpread": "its limit to what one MSB may hold",
    "Affinity": "the datacenters it wants",
    "MoveCost": "the price of moves",
    "Supply": "how many {} are free",
}


def paragraph(e: Explanation) -> str:
    """What somebody who asks why wants to hear first."""
    return " ".join(part for part in (_needs(e), _mix(e), _decides(e), _better(e), _last(e.last_solve)) if part)


def claim(decider: Decider) -> str:
    """What is claimed of one thing, in a sentence that can be checked by solving again."""
    without = _WITHOUT[decider.name].format(decider.subject)
    if decider.afresh is None:
        return _sentence(without, decider.now, "")
    if decider.afresh.decides or decider.now.decides is None:
        said = _sentence(without, decider.afresh, ", were moves free")
    else:
        said = _sentence(without, decider.now, "")
    return said


TERMS = {
    "short": "shortfall",
    "affinity": "affinity",
    "stability": "moving",
    "buffer": "embedded buffers",
    "msb_spread": "spread over MSBs",
    "rack_spread": "spread over racks",
}
"""Term of a score -> what it is called."""


def effect_words(effect: MoveEffect) -> str:
    """What one move would change, worst first."""
    there = "free" if effect.to_reservation is None else f"in {effect.to_reservation}"
    if effect.violations:
        message = effect.violations[0].message
        return f"{message}." if message.startswith(effect.server) else f"{effect.server} may not be {there}: {message}."
    grown = {name: getattr(effect.after, name) - getattr(effect.before, name) for name in TERMS}
    worse = [f"{TERMS[name]} by {by:.4g}" for name, by in sorted(grown.items(), key=lambda i: -i[1]) if by > 1e-6]
    better = [f"{TERMS[name]} by {-by:.4g}" for name, by in sorted(grown.items(), key=lambda i: i[1]) if by < -1e-6]
    if not worse and not better:
        return f"{effect.server} {there} would cost what it costs where it is."
    said = f"{effect.server} {there} would cost {abs(effect.costs):.4g} {'more' if effect.costs >= 0 else 'less'}:"
    parts = [f"worse {_listed(worse)}"] if worse else []
    parts += [f"better {_listed(better)}"] if better else []
    return f"{said} {'; '.join(parts)}."


def server_words(effects: Sequence[MoveEffect], *, asked: bool) -> str:
    """Why a server is where it is, or what the one move that was asked about would change."""
    if not effects:
        return "No reservation could use it."
    if asked:
        return effect_words(effects[0])
    legal = [effect for effect in effects if not effect.violations]
    here = effects[0].from_reservation or "free"
    if not legal:
        why = effects[0].violations[0].message
        return f"{effects[0].server} stays in {here}: every other place would leave some reservation worse off ({why})."
    nearest = min(legal, key=lambda effect: effect.costs)
    if nearest.costs >= 0:
        return f"{effects[0].server} is best where it is, in {here}. The next best: {effect_words(nearest)}"
    return f"{effects[0].server} would serve better elsewhere, and the next solve may see: {effect_words(nearest)}"


def _needs(e: Explanation) -> str:
    s = e.standing
    if e.servers == 0:
        return f"{e.reservation} needs {e.capacity_rru:g} RRU and has no server."
    msbs = len({holding.msb for holding in e.holdings})
    said = f"{e.reservation} needs {e.capacity_rru:g} RRU"
    said += " whichever MSB is lost" if e.survives_msb_loss else ""
    said += f" and holds {s.total_rru:.6g} in {e.servers} servers of {msbs} MSBs"
    if e.survives_msb_loss and e.worst_msb is not None:
        said += f": {s.worst_msb_rru:.6g} of it may be lost with {e.worst_msb}, its largest"
    said += "."
    if e.shortage is not None:
        said += f" {e.shortage.message}"
    return said


def _mix(e: Explanation) -> str:
    used = sorted((use for use in e.types if use.servers), key=lambda use: -use.servers)
    if not used:
        return ""
    said = "It has " + _listed([f"{use.servers} {use.hardware_type}" for use in used])
    scarce = [d.subject for d in e.deciders.deciders if d.name == "Supply" and _shapes(d) and d.subject is not None]
    if scarce:
        free = {use.hardware_type: use.free_servers for use in e.types}
        few = [f"{name} ({free.get(name, 0)} free)" for name in scarce]
        return said + f" because there is not more of {_listed(few)} where it would serve best."
    return said + "."


def _decides(e: Explanation) -> str:
    shapes = [_MEANS[d.name].format(d.subject) for d in e.deciders.deciders if d.name != "MoveCost" and _shapes(d)]
    rest = [_MEANS[d.name] for d in e.deciders.deciders if d.name not in ("MoveCost", "Supply") and _never(d)]
    said = f"What decides its shape: {_listed(shapes)}." if shapes else ""
    if rest:
        said += f" What does not: {_listed(rest)}."
    moves = next((d for d in e.deciders.deciders if d.name == "MoveCost"), None)
    if moves is not None and moves.now.decides:
        said += f" It stays as it is because of the price of moves: {_effect(moves.now)} if they were free."
    return said.strip()


def _better(e: Explanation) -> str:
    if e.deciders.could_save > 1e-3:
        return (
            f"Its own and the free servers could serve it {e.deciders.could_save:.4g} cheaper: the next solve will see."
        )
    if not e.deciders.settled:
        return "Whether its own and the free servers could serve it better was not settled in the time."
    return ""


def _last(last: LastSolve | None) -> str:
    if last is None:
        return "No solve has changed anything in this region yet."
    if not last.gained and not last.lost:
        return f"The last solve (plan {last.plan_id}) changed nothing for it."
    said = f"The last solve (plan {last.plan_id}) gave it {_servers(last.gained)} and took {last.lost}"
    saved = last.before.total - last.after.total
    if last.before.shortfall_rru > last.after.shortfall_rru:
        lacked = f"{last.before.shortfall_rru:.4g}"
        return f"{said}: it was short of {lacked} RRU and then of {last.after.shortfall_rru:.4g}."
    return f"{said}: its costs {'fell' if saved >= 0 else 'rose'} by {abs(saved):.4g}."


def _shapes(decider: Decider) -> bool:
    return bool(decider.now.decides or (decider.afresh is not None and decider.afresh.decides))


def _never(decider: Decider) -> bool:
    return decider.now.decides is False and decider.afresh is not None and decider.afresh.decides is False


def _sentence(without: str, outcome: Outcome, moves: str) -> str:
    if outcome.decides is None:
        return f"Not settled in the time: what would be best {without}{moves}."
    if not outcome.decides:
        return f"Nothing would be better {without}{moves}."
    return f"{_effect(outcome).capitalize()} {without}{moves}."


def _effect(outcome: Outcome) -> str:
    fewer = sum(change.with_it - change.without_it for change in outcome.changes)
    elsewhere = sum(max(change.without_it - change.with_it, 0) for change in outcome.changes)
    parts = []
    if outcome.short_rru_now - outcome.short_rru > 1e-6:
        parts.append(f"it would be short of {outcome.short_rru:.4g} instead of {outcome.short_rru_now:.4g} RRU")
    elif outcome.saves > 1e-3:
        parts.append(f"it would cost {outcome.saves:.4g} less")
    if fewer > 0:
        parts.append(f"{_servers(fewer)} fewer would do")
    if elsewhere:
        parts.append(f"{_servers(elsewhere)} would be others")
    return _listed(parts) or "another answer would be better"


def _servers(count: int) -> str:
    return f"{count} server{'' if count == 1 else 's'}"


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
