"""Read the portal's settings from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from libs.reconcile.settings import ClockSettings
from libs.store.platform.settings import StoreSettings


class SetUpSettings(StoreSettings, ClockSettings):
    """The database to prepare.

    admin_token_file   PLIMSOLL_ADMIN_TOKEN_FILE   the file for the secret of the first admin token
    service_role       PLIMSOLL_SERVICE_ROLE       a role of PostgreSQL that gets the rights that services need; None:
                                                   they use the role that migrates
    """

    admin_token_file: Path = Field(validation_alias="PLIMSOLL_ADMIN_TOKEN_FILE")
    service_role: str | None = Field(
        default=None, min_length=1, max_length=63, validation_alias="PLIMSOLL_SERVICE_ROLE"
    )
