"""Write the OpenAPI document in readable parts: one per noun, with repeated parts written once."""

import json
import re
from collections import Counter, defaultdict
from typing import Any

COLUMNS = 120
SHARED, USUAL = "shared", "usual"
_SCHEMA = re.compile(r"#/components/schemas/(\w+)")


def parts(document: dict[str, Any]) -> dict[str, str]:
    """Return JSON by noun: its paths, and the schemas that no other noun uses. `shared` has all the rest.

    `shared` has the usual answer of each status, the usual header and the usual parameter of each name, and operations
    refer to these. Titles are left out, because pydantic makes them from names.
    """
    document = _untitled(json.loads(json.dumps(document)))
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    components = document["components"]
    answers = [answer for operation in operations for answer in operation["responses"].values()]
    components["headers"] = _take_usual([answer.get("headers", {}) for answer in answers])
    components["responses"] = _take_usual([operation["responses"] for operation in operations])
    for operation in operations:
        operation["parameters"] = {one["name"]: one for one in operation.get("parameters", ())}
    components["parameters"] = _take_usual([operation["parameters"] for operation in operations])

    found: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
    for path, item in document.pop("paths").items():
        nouns = {noun for operation in item.values() for noun in operation.get("tags", ["platform"])}
        found[min(nouns)]["paths"][path] = item
    schemas = components.pop("schemas")
    users = {noun: _used(content, schemas) for noun, content in found.items()}
    found[SHARED].update(document)
    for name, schema in schemas.items():
        nouns = [noun for noun, used in users.items() if name in used]
        found[nouns[0] if len(nouns) == 1 else SHARED]["schemas"][name] = schema
    return {noun: folded(content) for noun, content in found.items()}


def folded(value: Any, indent: int = 0, lead: int = 0) -> str:
    """Return sorted JSON, with each part that fits in one line on one line."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(line) + indent + lead < COLUMNS or not isinstance(value, dict | list) or not value:
        return line
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        rows = [f'{pad}"{key}": {folded(value[key], indent + 2, len(key) + 4)}' for key in sorted(value)]
    else:
        rows = [pad + folded(one, indent + 2) for one in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(rows) + "\n" + " " * indent + closing


def _untitled(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _untitled(v) for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    return [_untitled(one) for one in value] if isinstance(value, list) else value


def _take_usual(given: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the value that more than half of the entries with a name share. These now have `"usual"` instead."""
    texts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in given:
        for name, value in one.items():
            texts[name][json.dumps(value, sort_keys=True)] += 1
    usual = {}
    for name, counter in texts.items():
        text, count = counter.most_common(1)[0]
        if 1 < count > counter.total() / 2:
            usual[name] = json.loads(text)
    for one in given:
        one.update({name: USUAL for name, value in one.items() if value == usual.get(name)})
    return usual


def _used(content: Any, schemas: dict[str, Any]) -> set[str]:
    """Return the schemas that a content refers to, also through other schemas."""
    found: set[str] = set()
    waiting = set(_SCHEMA.findall(json.dumps(content)))
    while waiting:
        name = waiting.pop()
        if name in schemas and name not in found:
            found.add(name)
            waiting |= set(_SCHEMA.findall(json.dumps(schemas[name])))
    return found
