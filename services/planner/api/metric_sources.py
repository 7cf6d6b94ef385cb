"""`/v1/metric-sources`: the Prometheus expressions for usage and traffic."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field, StringConstraints

from libs.domain.metric_source import Fills, MetricQuery, MetricSource
from libs.domain.principal import Role
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.telemetry.metric_sources import delete_source, list_sources, load_source, set_source
from libs.web import patterns
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Name, Number, PageOf, RequestModel, ResponseModel, SomeName, Whole
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, invalid
from libs.web.reasons import GivenReason, ReasonQuery

router = APIRouter(prefix="/v1/metric-sources", tags=["telemetry"])
_NOUN = "metric-sources"
_OPERATOR = [Depends(require(Role.OPERATOR))]
SourceName = Annotated[Name, Path(description="Name of the source")]
_Label = Annotated[str, StringConstraints(pattern=patterns.LABEL, max_length=200)]
_EXAMPLE: dict[str, Any] = {
    "fills": "usage",
    "query": "sum by (app, region) (rate(container_cpu_usage_seconds_total[5m]))",
    "labels": {"service": "app", "region": "region"},
    "constants": {"hardware_type": "compute"},
}


class MetricSourceIn(RequestModel):
    """An expression, and the names of its series. Each name comes from a label or is the same for all series."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    fills: Fills = Field(description="usage: named by service, region, hardware_type; traffic: by product, region")
    query: Annotated[str, StringConstraints(min_length=1, max_length=5000)] = Field(description="Expression in PromQL")
    labels: dict[str, _Label] = Field(
        default_factory=dict, description="Name of `fills` -> the label of a series that holds it"
    )
    constants: dict[str, SomeName] = Field(
        default_factory=dict, description="Name of `fills` -> its value in all series"
    )
    step_minutes: Annotated[Whole, Field(ge=1, le=60)] = 1
    scale: Annotated[Number, Field(gt=0, le=1e12)] = Field(
        default=1.0, description="Factor from values to the normalised capacity measure, or to requests/s"
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")

    def to_query(self) -> MetricQuery:
        """Return the query. Raises Problem (422) if a name is missing, given twice, or not one of the measure's
        names.
        """
        wanted, given = set(self.fills.names), [*self.labels, *self.constants]
        if sorted(given) != sorted(wanted):
            message = f"with constants it must name each of {', '.join(sorted(wanted))} once, and nothing else"
            raise invalid(FieldError(field="labels", location="body", code="bad_names", message=message))
        return MetricQuery(**{name: getattr(self, name) for name in MetricQuery.__dataclass_fields__})


class MetricPullOut(ResponseModel):
    """The progress of a source's pulls."""

    pulled_until: datetime
    attempted_at: datetime
    samples: int = Field(description="Samples in the last answer")
    series_left_out: int = Field(description="Series in the last answer without a label that names them")
    error: str | None = Field(description="Why the last attempt failed; null if it succeeded")


class MetricSourceOut(ResponseModel):
    """A source, and the result of its pulls."""

    name: str
    fills: Fills
    query: str
    labels: dict[str, str]
    constants: dict[str, str]
    step_minutes: int
    scale: float
    generation: int
    pull: MetricPullOut | None = Field(description="null: no pull was tried yet")


@router.get("", operation_id="list_metric_sources")
def get_sources(context: Context, paging: Paging) -> PageOf[MetricSourceOut]:
    """List sources in the order of their creation."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_sources(tx, after=after, limit=paging.limit)
    return PageOf(items=[_out(source) for source in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{name}", operation_id="get_metric_source", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_source(name: SourceName, context: Context, response: Response) -> MetricSourceOut:
    """Return one source."""
    with context.database.snapshot() as tx:
        source = load_source(tx, name)
    response.headers.update(etag(source.generation))
    return _out(source)


@router.put(
    "/{name}",
    operation_id="put_metric_source",
    response_model=MetricSourceOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(409)},
)
def put_source(
    name: SourceName,
    body: MetricSourceIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Create a source (generation 0) or change one. A changed source is pulled from the beginning, over existing
    samples.
    """
    query = body.to_query()

    def effect(tx: Transaction) -> Answer:
        before = _before(tx, name)
        source = set_source(tx, name, query, generation=expected)
        audit.append(
            tx,
            actor=principal.name,
            action="set_metric_source",
            subject_kind="metric_source",
            subject_id=source.metric_source_id,
            now=context.clock.now(),
            before=before,
            after=asdict(source.query),
            reason=body.reason,
        )
        return Answer(200, _out(source), etag(source.generation))

    return write.once(effect)


@router.delete(
    "/{name}",
    operation_id="delete_metric_source",
    status_code=204,
    response_class=Response,
    dependencies=_OPERATOR,
    responses=problems(404, 409),
)
def delete_one(
    name: SourceName,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    reason: ReasonQuery = None,
) -> Response:
    """Delete a source. Its measurements stay."""

    def effect(tx: Transaction) -> Answer:
        source = load_source(tx, name)
        delete_source(tx, name, generation=expected)
        audit.append(
            tx,
            actor=principal.name,
            action="delete_metric_source",
            subject_kind="metric_source",
            subject_id=source.metric_source_id,
            now=context.clock.now(),
            before=asdict(source.query),
            reason=reason,
        )
        return Answer(204)

    return write.once(effect)


def _before(tx: Transaction, name: str) -> dict[str, object] | None:
    try:
        return asdict(load_source(tx, name).query)
    except NotFound:
        return None


def _out(source: MetricSource) -> MetricSourceOut:
    pull = None if source.pull is None else MetricPullOut.model_validate(source.pull)
    return MetricSourceOut(name=source.name, generation=source.generation, pull=pull, **asdict(source.query))
