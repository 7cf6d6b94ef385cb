"""Read the portal's settings from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from libs.reconcile.settings import ClockSettings
from libs.store.platform.settings import StoreSettings


class SetUpSettings(StoreSettings, ClockSettings):
    """The database to prepare.

    admin_token_file   PLIMSOLL_ADMIN_TOKEN_FILE   the file for the secret of the first admin token
    """

    admin_token_file: Path = Field(validation_alias="PLIMSOLL_ADMIN_TOKEN_FILE")
