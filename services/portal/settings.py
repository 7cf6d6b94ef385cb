"""Read the portal's settings from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from libs.carriers.reminder import ReminderSettings
from libs.domain.audit import KEPT_DAYS_MIN
from libs.reconcile.environment import Settings
from libs.reconcile.settings import ClockSettings
from libs.store.platform.settings import StoreSettings


class SetUpSettings(StoreSettings, ClockSettings):
    """The database to prepare.

    admin_token_file   PLIMSOLL_ADMIN_TOKEN_FILE   the file for the secret of the first admin token
    service_role       PLIMSOLL_SERVICE_ROLE       a role of PostgreSQL that gets the rights that services need; None:
                                                   they use the role that migrates
    migrate_beside     PLIMSOLL_MIGRATE_BESIDE     migrate while others are connected, though a migration needs the
                                                   processes of the previous version stopped
    """

    admin_token_file: Path = Field(validation_alias="PLIMSOLL_ADMIN_TOKEN_FILE")
    service_role: str | None = Field(
        default=None, min_length=1, max_length=63, validation_alias="PLIMSOLL_SERVICE_ROLE"
    )
    migrate_beside: bool = Field(default=False, validation_alias="PLIMSOLL_MIGRATE_BESIDE")


class AuditSettings(Settings):
    """How long the database keeps the audit trail.

    audit_dir         PLIMSOLL_AUDIT_DIR         the folder to which old entries go; None: the database keeps them all
    audit_kept_days   PLIMSOLL_AUDIT_KEPT_DAYS   age on the Clock at which an entry goes there
    """

    audit_dir: Path | None = Field(default=None, validation_alias="PLIMSOLL_AUDIT_DIR")
    audit_kept_days: int = Field(default=400, ge=KEPT_DAYS_MIN, le=36_500, validation_alias="PLIMSOLL_AUDIT_KEPT_DAYS")


def read_job_settings() -> None:
    """Read all settings of the portal's jobs. Raises ValidationError for a wrong one."""
    ReminderSettings()
    AuditSettings()
