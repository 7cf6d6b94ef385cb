"""Numbers and times as people read them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
MINUS = "\N{MINUS SIGN}"


def number(value: float | int | None) -> str:
    """Return a number with separators of thousands and at most four significant digits of a fraction."""
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 1000 or float(value).is_integer() else 1 if abs(value) >= 100 else 2
    said = _said(value, digits)
    return said.rstrip("0").rstrip(".") if "." in said else said


def _said(value: float, digits: int) -> str:
    said = f"{abs(value):,.{digits}f}"
    return f"{MINUS}{said}" if value < 0 and said.strip("0.") else said


def aligned(values: Sequence[float | None]) -> list[str]:
    """Return the numbers of one column, all with the decimals that one of them needs, so that their points align.

    Beside thousands, a fraction says nothing more: each number has its own decimals then.
    """
    plain = [number(value) for value in values]
    known = [value for value in values if value is not None]
    if max(map(abs, known), default=0) >= 1000:
        return plain
    digits = max(len(said.partition(".")[2]) for said in plain) if plain else 0
    return [said if value is None else _said(value, digits) for said, value in zip(plain, values, strict=True)]


def kilowatts(watts: float | None) -> float | None:
    """Return W as kW; None stays None."""
    return None if watts is None else watts / 1000


def count(value: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number(value)} {noun if value == 1 else plural or f'{noun}s'}"


def percent(share: float | None, *, digits: int = 1) -> str:
    """Return a share as a percentage. It says 100 % only of all, and 0 % only of nothing."""
    if share is None:
        return "–"
    least = 10.0**-digits
    if 0 < share * 100 < least:
        return f"under {least:g} %"
    if 100 - least < share * 100 < 100:
        return f"over {100 - least:g} %"
    said = f"{share * 100:.{digits}f}"
    return f"{said.rstrip('0').rstrip('.') if '.' in said else said} %"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units."""
    whole = int(abs(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min"
    if whole < _DAY_S:
        hours, rest = divmod(whole, _HOUR_S)
        return f"{hours} h {rest // _MINUTE_S} min" if rest >= _MINUTE_S and hours < 10 else f"{hours} h"
    days, rest = divmod(whole, _DAY_S)
    return f"{days} d {rest // _HOUR_S} h" if rest >= _HOUR_S and days < 10 else f"{days} d"


def parse_moment(text: str) -> datetime:
    """Return the time that the API wrote."""
    return datetime.fromisoformat(text)


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago a time is, or in how long it comes."""
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 5:
        return "now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {duration(seconds)}"


def moment_text(moment: datetime, now: datetime) -> str:
    """Return a time with its zone: short for times of this year."""
    at = moment.astimezone(UTC)
    same_year = at.year == now.astimezone(UTC).year
    return f"{at:%b} {at.day}, {at:%H:%M} UTC" if same_year else f"{at:%b} {at.day} {at.year}, {at:%H:%M} UTC"


def moment_markup(text: str | None, now: datetime) -> Markup:
    """Return a time as an element, with zone and age; a dash for none."""
    if text is None:
        return Markup("–")
    moment = parse_moment(text)
    return Markup('<time datetime="{}">{} <small>({})</small></time>').format(
        moment.astimezone(UTC).isoformat(timespec="seconds"), moment_text(moment, now), age(moment, now)
    )


def shell_line(command: Sequence[str]) -> str:
    """Return a `plimsoll` command as people copy it into a shell. Each argument stays one word there.

    A link may name anything. Control characters are left out, because a terminal acts on them inside quotes too.
    """
    return shlex.join("".join(filter(str.isprintable, one)) for one in ("plimsoll", *command))


def said(sentence: str) -> Markup:
    """Return a sentence of the API, whose commands stand between backticks, as markup."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:  # a backtick without another one
        return escape(sentence)
    marked = [Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)]
    return Markup("").join(marked)


def sentence(clause: str) -> str:
    """Return a clause with a capital first letter. The rest stays, so abbreviations keep theirs."""
    return clause[:1].upper() + clause[1:]


_ACRONYM, _UNIT = re.compile(r"\b(?:rru|msb)\b", re.IGNORECASE), re.compile(r" s$")


def spaced(identifier: str) -> str:
    """Return an identifier such as CapacityLost or shared_buffer as words."""
    parts = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in identifier)
    words = parts.replace("_", " ").strip().capitalize()
    return _UNIT.sub(" (s)", _ACRONYM.sub(lambda found: found[0].upper(), words))
