"""The refusal of a request, as a client raises it."""

import httpx

from services.cli.client import ApiProblem


def refusal(field: str, message: str) -> ApiProblem:
    """Return the refusal of a request with one wrong field."""
    wrong = {"field": field, "location": "body", "code": "wrong", "message": message}
    body = {"title": "Some fields are not valid", "code": "invalid_request", "errors": [wrong]}
    return ApiProblem(httpx.Response(422, json=body))
