"""The Celery app. A message is a job id; each kind of job has a queue of its name."""

from __future__ import annotations

import os
from collections.abc import Sequence

from celery import Celery
from kombu import Exchange, Queue

from libs.jobs import folder
from libs.jobs.kinds import JobKind
from libs.jobs.runner import runner_of_process
from libs.jobs.settings import JobSettings

CLOCKS_APART_S_MAX = 300.0
"""Allowed difference between clocks. A late message does no harm: it finds nothing to claim. A dropped one delays its
job.
"""
_NO_EXCHANGE = Exchange("", type="direct")  # a message goes to the queue that its routing key names


def make_celery(settings: JobSettings, kinds: Sequence[JobKind] = ()) -> Celery:
    """Return an app that sends jobs of any kind. Workers of this app run only jobs of the kinds `kinds`.

    Raises ValueError unless exactly one of a broker's URL and a folder is set.
    """
    app = Celery("plimsoll", broker=_broker(settings))
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,  # leases recover the jobs of a dead worker, with every transport
        task_default_exchange="",
        task_queues=[queue_of(kind.name) for kind in kinds],
        broker_transport_options=_transport_options(settings),
        broker_connection_retry_on_startup=True,
        task_publish_retry_policy={"max_retries": 1, "interval_start": 0.1},
        worker_prefetch_multiplier=1,
        worker_max_tasks_per_child=settings.job_process_jobs_max,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_proc_alive_timeout=60.0,
        enable_utc=True,
    )
    for kind in kinds:
        _add_task(app, kind)
    return app


def queue_of(kind: str) -> Queue:
    """Return the name of the queue for jobs of `kind`."""
    return Queue(kind, _NO_EXCHANGE, routing_key=kind)


def send(app: Celery, kind: str, job_id: int, *, expires_s: float) -> None:
    """Send the message of a job. A worker drops a message that is much older than `expires_s`, because the job was sent
    again by then.

    Celery computes the expiry by the sender's clock, and the worker compares it with its own.
    """
    app.send_task(kind, args=[job_id], queue=queue_of(kind), expires=expires_s + CLOCKS_APART_S_MAX)


def _add_task(app: Celery, kind: JobKind) -> None:
    def run(job_id: int) -> None:
        runner_of_process(os.getpid()).run(kind, job_id)

    app.task(run, name=kind.name)


def _broker(settings: JobSettings) -> str:
    if settings.broker_url is not None and settings.broker_dir is None:
        return settings.broker_url.get_secret_value()
    if settings.broker_dir is not None and settings.broker_url is None:
        return f"{folder.SCHEME}://"
    raise ValueError("set either PLIMSOLL_BROKER_URL or PLIMSOLL_BROKER_DIR")


def _transport_options(settings: JobSettings) -> dict[str, object]:
    if settings.broker_dir is None:
        return {}
    settings.broker_dir.mkdir(parents=True, exist_ok=True)
    folder.sweep(settings.broker_dir)
    path = str(settings.broker_dir)
    return {
        "data_folder_in": path,
        "data_folder_out": path,
        "control_folder": path,
        "polling_interval": settings.broker_poll_s,
    }
