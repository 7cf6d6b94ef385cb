"""/v1/solve-runs: run one now, see how far it is and what it found, stop it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from libs.domain.plan import SolveRun, SolveStatus
from libs.domain.principal import Role
from libs.jobs.queue import enqueue
from libs.store.refusals import NotPossible
from libs.store.regions import load_region
from libs.store.solve_runs import list_solve_runs, load_solve_run, request_cancel
from libs.web.auth import require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.idempotency import Answer, Write
from libs.web.model import PageOf, RequestModel, ResponseModel, SomeName

NOUN = "solve run"
router = APIRouter(prefix="/v1/solve-runs", tags=["solve runs"])
