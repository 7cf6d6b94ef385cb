"""Send random cases, and check the answers. A case is one request, drawn for one operation of the API document. Half of
the cases are aimed at an existing object.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from hypothesis import HealthCheck, Phase, given, settings
from requests.structures import CaseInsensitiveDict
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from soak.fuzz.seeds import REGION, Seeds, nothing
from soak.fuzz.uploads import UPLOADS

Operation = APIOperation[Any, Any, Any, Any]
AnyCase = Case[Operation]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


class Fuzz:
    """Sends cases with the tokens of several clients in turn, and counts the answers.

    Half of the cases are aimed: their ids, region and generation are those of an existing object, and their body is the
    example of the schema. An aimed case is drawn only if its operation has a part without an example, because drawing
    costs more than sending.
    """

    def __init__(
        self,
        maker: httpx.Client,
        callers: Sequence[httpx.Client],
        seeds: Seeds,
        *,
        seed: int = 0,
        wait: Callable[[], None] = nothing,
    ) -> None:
        """Set the clients: `maker` makes the objects of cases, and `callers` send them.

        `wait` is called after each case.
        """
        self._maker, self._callers, self._seeds = maker, itertools.cycle(callers), seeds
        self._turn, self._random = itertools.count(), random.Random(seed)
        self.statuses: dict[str, set[int]] = defaultdict(set)
        self.answers: Counter[int] = Counter()
        self._wait = wait
        self._schemas: dict[str, dict[str, list[Any]]] = {}

    @property
    def sent(self) -> int:
        """Number of requests sent."""
        return self.answers.total()

    def every_case(self, operation: Operation, examples: int, *, fresh: bool = False) -> None:
        """Send `examples` valid cases and as many invalid ones. `fresh` draws other cases every time.

        Raises the failures of the checks.
        """
        draw = settings(
            max_examples=examples,
            derandomize=not fresh,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        has_input = operation.body or operation.query or operation.path_parameters or operation.headers
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)[: 2 if has_input else 1]
        send: Callable[[AnyCase], None] = self.send_in_turn
        if self._is_known(operation):
            for _ in range(examples * len(modes) // 2):
                self.send(self._aimed(operation))
            draw, send = settings(draw, max_examples=(examples + 1) // 2), self.send
        for mode in modes:
            draw(given(case=operation.as_strategy(generation_mode=mode))(send))()

    def send_in_turn(self, case: AnyCase) -> None:
        """Aim every other case, send it and check its answer. Raises the failures of the checks."""
        if next(self._turn) % 2 == 0:
            self._aim(case)
        self.send(case)

    def send(self, case: AnyCase) -> None:
        """Send a case and check its answer. Raises the failures of the checks."""
        kept = {k: v for k, v in dict(case.headers or {}).items() if k.lower() != "authorization"}
        case.headers = CaseInsensitiveDict(kept)
        caller = next(self._callers)
        self._judge(case, case.call(headers=_authorization(caller)))

    def upload(self, operation: Operation, times: int) -> None:
        """Send `times` bodies, good ones and damaged ones, to a route that takes files.

        Raises the failures of the checks.
        """
        for make in UPLOADS.get(operation.label, ()):
            for _ in range(times):
                body = make(self._random)
                case = operation.Case(path_parameters=self._parameters(operation), body=NOT_SET)
                self._with_generation(case, operation)
                caller = next(self._callers)
                url = operation.path.format(**(case.path_parameters or {}))
                headers = {str(k): str(v) for k, v in dict(case.headers or {}).items()} | dict(body.headers)
                answer = caller.request(
                    operation.method.upper(), url, content=body.content, files=body.files, headers=headers
                )
                answer.request.read()  # a failure quotes the body
                self._judge(case, answer)

    def _judge(self, case: AnyCase, answer: httpx.Response | Response) -> None:
        status = answer.status_code
        self.answers[status] += 1
        self.statuses[case.operation.label].add(status)
        self._wait()
        case.validate_response(answer, checks=CHECKS)

    def _parameters(self, operation: Operation) -> dict[str, object]:
        names = [parameter.name for parameter in operation.path_parameters]
        return self._seeds.parameters(operation.path, names)

    def _is_known(self, operation: Operation) -> bool:
        """Return whether seeds and examples give every part of an aimed case."""
        names = {parameter.name for parameter in operation.path_parameters}
        return names <= self._parameters(operation).keys() and (
            not operation.body or self._example_of(_json_schema(operation)) is not None
        )

    def _aimed(self, operation: Operation) -> AnyCase:
        """Return an aimed case. Of its query it has at most the region: always if that is required, else at random."""
        region = [parameter for parameter in operation.query if parameter.name == "region"]
        asks = any(parameter.is_required for parameter in region) or (region and self._random.random() < 0.5)
        case = operation.Case(
            path_parameters={},
            query={"region": REGION} if asks else {},
            headers={},
            media_type="application/json" if operation.body else None,
        )
        self._aim(case)
        return case

    def _aim(self, case: AnyCase) -> None:
        operation = case.operation
        case.path_parameters = dict(case.path_parameters or {}) | self._parameters(operation)
        case.query = {"region": REGION} if "region" in (case.query or {}) else {}
        headers = dict(case.headers or {})
        headers.pop("Idempotency-Key", None)
        case.headers = CaseInsensitiveDict(headers)
        self._with_generation(case, operation)
        example = self._example_of(_json_schema(operation))
        if example is not None:
            case.body = example

    def _with_generation(self, case: AnyCase, operation: Operation) -> None:
        if any(parameter["name"] == "If-Match" for parameter in operation.definition.raw.get("parameters", ())):
            url = operation.path.format(**(case.path_parameters or {}))
            read = url
            for verb in ("rotate", "approve", "reject", "decide", "report"):
                read = read.removesuffix(f"/{verb}")
            found = self._maker.get(read).headers.get("etag", '"1"')
            case.headers = CaseInsensitiveDict(dict(case.headers or {}) | {"If-Match": found})

    def _example_of(self, schema: dict[str, object]) -> Any:
        """Return the first example of a body's schema; None if it has none."""
        name = str(schema.get("$ref", "")).rsplit("/", 1)[-1]
        if not self._schemas:
            self._schemas = self._maker.get("/openapi.json").json()["components"]["schemas"]
        return (self._schemas.get(name, {}).get("examples") or [None])[0]


def _json_schema(operation: Operation) -> dict[str, object]:
    """Return the schema of an operation's JSON body; empty if it takes none."""
    content = operation.definition.raw.get("requestBody", {}).get("content", {}).get("application/json", {})
    return dict(content.get("schema", {}))


def _authorization(client: httpx.Client) -> dict[str, str]:
    """Return the header with a client's token."""
    return {"Authorization": client.headers["Authorization"]}
