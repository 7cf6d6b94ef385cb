"""Pydantic's errors as field errors, with the nearest known name for an unknown field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError

from libs.domain.validation_words import without_library_words
from libs.web.patterns import WORDS
from libs.web.problems import ERRORS_MAX, FieldError, Problem, invalid

Schema = Mapping[str, Any]


def problem_of(request: Request, error: RequestValidationError) -> Problem:
    """Return a 422 that names the invalid fields, or a 400 for a body that is not JSON."""
    details = error.errors()
    for detail in details:
        if detail["type"] == "json_invalid":
            reason = f"{detail.get('ctx', {}).get('error', 'not JSON')} at character {detail['loc'][-1]}"
            return Problem(400, "bad_request", f"The body is not JSON: {reason}.")
    named = details[:ERRORS_MAX]
    errors = _merged(_field_error(request, detail) for detail in named)
    return invalid(*errors, unnamed=len(details) - len(named))


def _merged(errors: Iterable[FieldError]) -> list[FieldError]:
    """Return one error for each field: a value that fits none of several types has an error for each of them."""
    found: dict[tuple[str, str], FieldError] = {}
    for one in errors:
        first = found.get((one.location, one.field))
        message = one.message if first is None else f"{first.message}, or {one.message}"
        found[one.location, one.field] = (first or one).model_copy(update={"message": message})
    return list(found.values())


async def refuse_unknown_query(request: Request) -> None:
    """Refuse unknown query parameters, on every route: a misspelt filter must not silently list everything.

    Refuse a parameter that is given twice and takes one value too: only the last one would count.

    Raises Problem (422) that names each of them.
    """
    operation = _operation(request)
    known = {p["name"]: p.get("schema", {}) for p in operation.get("parameters", ()) if p["in"] == "query"}
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        raise invalid(*(_unknown_field(name[:100], "query", name, list(known)) for name in unknown[:20]))
    given = Counter(name for name, _ in request.query_params.multi_items())
    repeated = sorted(name for name, times in given.items() if times > 1 and not _is_list(known[name]))
    if repeated:
        raise invalid(*(_repeated_field(name) for name in repeated))


def _is_list(schema: Schema) -> bool:
    return any(choice.get("type") == "array" for choice in (schema, *schema.get("anyOf", ())))


def _repeated_field(name: str) -> FieldError:
    message = "is given more than once, and takes one value: give it once"
    return FieldError(field=name, location="query", code="repeated", message=message)


def _field_error(request: Request, detail: Mapping[str, Any]) -> FieldError:
    location, path = str(detail["loc"][0]), [str(part) for part in detail["loc"][1:]]
    of_key = path[-1:] == ["[key]"]
    path = path[:-2] if of_key else path
    if detail["type"] == "extra_forbidden":
        known = sorted(_properties(request, path[:-1]))
        return _unknown_field(".".join(path)[:300], location, path[-1], known)
    if location == "body" and len(path) > 1 and _is_type(request, path):
        path = path[:-1]
    missing_body = location == "body" and not path and detail["type"] != "value_error"  # of a rule for the whole body
    words = WORDS.get(detail.get("ctx", {}).get("pattern", ""))
    message = _of_body(request) if missing_body else words or without_library_words(str(detail["msg"]))
    if of_key:
        message = f"a name in it {message}"
    return FieldError(field=".".join(path)[:300] or location, location=location, code=detail["type"], message=message)


def _of_body(request: Request) -> str:
    """Return what the body must be. curl and others call it a form, unless they are told otherwise."""
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not sent or sent == "application/json" or sent.endswith("+json"):
        return "a JSON object is required"
    return f"a JSON object is required, with Content-Type: application/json and not {sent[:100]}"


def _unknown_field(field: str, location: str, name: str, known: Sequence[str]) -> FieldError:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
    return FieldError(
        field=field,
        location=location,
        code="unknown_field",
        message=f"no such field: {hint}",
        known=near or list(known),
    )


def _operation(request: Request) -> dict[str, Any]:
    path = request.scope["route"].path_format
    operation: dict[str, Any] = request.app.openapi()["paths"].get(path, {}).get(request.method.lower(), {})
    return operation


def _is_type(request: Request, path: Sequence[str]) -> bool:
    """Return whether the end of a path is no field, but one of the types that the field before it may have."""
    before = _level(request, path[:-1])
    is_field = path[-1].isdigit() or any(True for schema in before for _ in _children(schema, path[-1]))
    types = {schema.get("type") for schema in before} - {"null"}  # the library names no type beside null
    return not is_field and len(types) > 1


def _properties(request: Request, path: Sequence[str]) -> set[str]:
    """Return the fields of the body at this path, by the OpenAPI document."""
    return {name for schema in _level(request, path) for name in schema.get("properties", {})}


def _level(request: Request, path: Sequence[str]) -> list[Schema]:
    """Return the schemas of the body at this path, by the OpenAPI document."""
    schemas = request.app.openapi()["components"]["schemas"]
    contents = _operation(request).get("requestBody", {}).get("content", {})
    level: list[Schema] = [content["schema"] for content in contents.values()]
    level = list(_resolve(level, schemas))
    for part in path:
        level = list(_resolve([child for schema in level for child in _children(schema, part)], schemas))
    return level


def _resolve(level: Sequence[Schema], schemas: Mapping[str, Schema]) -> Iterator[Schema]:
    for schema in level:
        if "$ref" in schema:
            yield from _resolve([schemas[schema["$ref"].rsplit("/", 1)[1]]], schemas)
        elif "anyOf" in schema or "oneOf" in schema or "allOf" in schema:
            choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
            yield from _resolve(choices, schemas)
        else:
            yield schema


def _children(schema: Schema, part: str) -> Iterator[Schema]:
    if part in schema.get("properties", {}):
        yield schema["properties"][part]
    elif "patternProperties" in schema:  # an object by names of a form
        yield from schema["patternProperties"].values()
    elif isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]
    elif part.isdigit() and "items" in schema:
        yield schema["items"]
