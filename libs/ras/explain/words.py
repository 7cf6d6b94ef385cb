"""Write the explanation of a reservation, or of a move of a server, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.domain_kind import MSB_KIND
from libs.ras.explain.deciders import Decider, Outcome
from libs.ras.explain.explanation import Explanation, LastSolve
from libs.ras.explain.move import MoveEffect

_IF = {
    "Capacity": "If it asked for no capacity",
    "MsbLoss": "If it did not have to survive the loss of an MSB",
    "DomainLoss": "If it did not have to survive the loss of a {}",
    "BufferCost": "If the embedded buffer cost nothing",
    "SurplusCost": "If servers above the fewest cost nothing",
    "MsbSpread": "If one MSB might hold any share of it",
    "Affinity": "If it preferred no datacenter",
    "MsbShareMax": "If it had no hard limit on the share in one MSB",
    "Resource": "If it asked for no {}",
    "Guest": "If {} were no guest of it",
    "Datacenters": "If every datacenter might hold its servers",
    "DomainsMax": "If its servers might lie in any number of domains of the kind {}",
    "DomainsPreferred": "If it preferred no number of domains of the kind {}",
    "ServersMax": "If one {} might hold any number of its servers",
    "ShareMax": "If one {} might hold any share of its capacity",
    "PowerLimits": "If every domain could feed all of its servers",
    "MoveCost": "If moves cost nothing",
    "Supply": "If every MSB had more free {}",
}
_FREE_MOVES = " and moves cost nothing"
_MEANS = {
    "Capacity": "the capacity that it asks for",
    "MsbLoss": "surviving the loss of any one MSB",
    "DomainLoss": "surviving the loss of any one {}",
    "BufferCost": "the price of the embedded buffer",
    "SurplusCost": "the price of servers above the fewest",
    "MsbSpread": "its limit on the share in one MSB",
    "Affinity": "the datacenters that it prefers",
    "MsbShareMax": "its hard limit on the share in one MSB",
    "Resource": "the {} that it asks for",
    "Guest": "its guest {}",
    "Datacenters": "the only datacenters that it allows",
    "DomainsMax": "its hard limit on the number of domains of the kind {}",
    "DomainsPreferred": "the number of domains of the kind {} that it prefers",
    "ServersMax": "its hard limit on its servers in one {}",
    "ShareMax": "its hard limit on its share in one {}",
    "PowerLimits": "the limits on power",
    "MoveCost": "the price of moves",
    "Supply": "the number of free {}",
}


def paragraph(e: Explanation, now: str = "") -> str:
    """Summarise the explanation `e` in one paragraph: need, servers, deciders, and the changes by the last solve.

    now   a sentence about the servers that the reservation holds at this moment. The explanation itself is about
          targets
    """
    return " ".join(part for part in (_needs(e), now, _mix(e), _decides(e), _better(e), _last(e.last_solve)) if part)


def claim(decider: Decider) -> str:
    """Return a sentence about the servers of the reservation if the constraint or cost `decider` did not exist.

    A solve without that constraint or cost can check the sentence.
    """
    condition = _IF[decider.name].format(decider.subject)
    if decider.afresh is not None and (decider.afresh.decides or decider.now.decides is None):
        return _sentence(condition + _FREE_MOVES, decider.afresh)
    return _sentence(condition, decider.now)


TERMS = {
    "short": "shortfall",
    "affinity": "affinity",
    "stability": "moving",
    "buffer": "embedded buffers",
    "surplus": "servers above the fewest",
    "msb_spread": "spread over MSBs",
    "rack_spread": "spread over racks",
    "power": "balance of power",
    "locality": "further domains",
    "uplinks": "uplinks",
}
"""Term of a score -> its name for people."""


def effect_words(effect: MoveEffect) -> str:
    """Return a sentence with the effects of one move of a server on the costs of the region, the worst effect first.

    If a rule forbids the move, return a sentence with that rule.
    """
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
    """Return a sentence that states why a server is in its reservation, or the effect of a requested move.

    effects  the effects of moves of the server
    asked    whether a client requested the first of these moves
    """
    if not effects:
        return "No reservation could use it."
    if asked:
        return effect_words(effects[0])
    legal = [effect for effect in effects if not effect.violations]
    home = effects[0].from_reservation
    here = "free" if home is None else f"in {home}"
    if not legal:
        why = effects[0].violations[0].message
        return f"{effects[0].server} stays {here}, because every other place breaks a rule ({why})."
    nearest = min(legal, key=lambda effect: effect.costs)
    if nearest.costs >= 0:
        return f"{effects[0].server} is best where it is, {here}. The next best: {effect_words(nearest)}"
    return f"{effects[0].server} would serve better elsewhere; the next solve may move it. {effect_words(nearest)}"


def _needs(e: Explanation) -> str:
    s = e.standing
    if e.servers == 0:
        return f"{e.reservation} needs {e.capacity_rru:g} RRU and has no server."
    msbs = len({holding.msb for holding in e.holdings})
    said = f"{e.reservation} needs {e.capacity_rru:g} RRU"
    said += f" whichever {' or '.join(e.survived)} is lost" if e.survived else ""
    said += f", and its targets give {s.total_rru:.6g} RRU in {_count(e.servers, 'server')} of {_count(msbs, 'MSB')}."
    if e.worst is not None:
        remains, lost = s.total_rru - e.worst.rru, e.worst.words
        holds = f"{lost} holds the most of it" if e.worst.kind == MSB_KIND else f"The most of it is in {lost}"
        said += f" {holds}, {e.worst.rru:.6g} RRU; without {lost} {remains:.6g} RRU remain."
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
        few = [f"{name} ({free.get(name, 0)} free now)" for name in scarce]
        return f"{said}. If every MSB had more {_listed(few, 'or')}, other servers would serve it better."
    return said + "."


def _decides(e: Explanation) -> str:
    shapes = [_MEANS[d.name].format(d.subject) for d in e.deciders.deciders if d.name != "MoveCost" and _shapes(d)]
    rest = [
        _MEANS[d.name].format(d.subject)
        for d in e.deciders.deciders
        if d.name not in ("MoveCost", "Supply") and _never(d)
    ]
    said = f"Its servers are decided by {_listed(shapes)}" if shapes else ""
    if rest:
        said += f"{', and not by' if shapes else 'Its servers are not decided by'} {_listed(rest, 'or')}"
    said += "." if said else ""
    moves = next((d for d in e.deciders.deciders if d.name == "MoveCost"), None)
    if moves is not None and moves.now.decides:
        factor = "" if e.move_cost == 1 else f" ({e.move_cost:g} times the region's, by its move_cost)"
        said += f" The price of moves{factor} keeps them: if moves cost nothing, {_effect(moves.now)}."
    return said.strip()


def _better(e: Explanation) -> str:
    if e.deciders.could_save > 1e-3:
        saved = f"{e.deciders.could_save:.4g}"
        return f"Other free servers could serve it at costs that are lower by {saved}; the next solve considers them."
    if not e.deciders.settled:
        return "The time did not suffice to find out whether other free servers would serve it better."
    return ""


def _last(last: LastSolve | None) -> str:
    if last is None:
        return "No solve has changed anything in this region yet."
    if not last.gained and not last.lost:
        return f"The last solve (plan {last.plan_id}) changed nothing for it."
    said = f"The last solve (plan {last.plan_id}) gave it {_count(last.gained, 'server')} and took {last.lost}"
    saved = last.before.total - last.after.total
    if last.before.shortfall_rru > last.after.shortfall_rru:
        lacked = f"{last.before.shortfall_rru:.4g}"
        return f"{said}: it was short of {lacked} RRU and then of {last.after.shortfall_rru:.4g}."
    return f"{said}: its costs {'fell' if saved >= 0 else 'rose'} by {abs(saved):.4g}."


def _shapes(decider: Decider) -> bool:
    return bool(decider.now.decides or (decider.afresh is not None and decider.afresh.decides))


def _never(decider: Decider) -> bool:
    return decider.now.decides is False and decider.afresh is not None and decider.afresh.decides is False


def _sentence(condition: str, outcome: Outcome) -> str:
    if outcome.decides is None:
        return f"{condition}, other servers might serve it better; the time did not suffice to find out."
    if not outcome.decides:
        return f"{condition}, no other servers would serve it better."
    return f"{condition}, {_effect(outcome)}."


def _effect(outcome: Outcome) -> str:
    fewer = sum(change.with_it - change.without_it for change in outcome.changes)
    elsewhere = sum(max(change.without_it - change.with_it, 0) for change in outcome.changes)
    parts = []
    if outcome.short_rru_now - outcome.short_rru > 1e-6:
        short = outcome.short_rru if outcome.short_rru > 1e-6 else 0.0
        parts.append(f"it would be short of {short:.4g} instead of {outcome.short_rru_now:.4g} RRU")
    elif outcome.saves > 1e-3:
        parts.append(f"it would cost {outcome.saves:.4g} less")
    if fewer > 0:
        parts.append(f"it would need {_count(fewer, 'server')} fewer")
    if elsewhere:
        parts.append(f"{_count(elsewhere, 'server')} would be of another type or in another MSB")
    return _listed(parts) or "other servers would serve it better"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _listed(names: list[str], conjunction: str = "and") -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} {conjunction} {len(names) - 5} more"
    return f" {conjunction} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
