"""Read the settings of the pages from the environment."""

from __future__ import annotations

from pydantic import Field

from libs.reconcile.settings import ClockSettings


class PagesSettings(ClockSettings):
    """The API behind the pages, and the patience with it.

    api_url       PLIMSOLL_URL               where the API listens; for the pages alone, and not for the browser
    api_s_max     PLIMSOLL_PAGES_API_S_MAX   seconds that one call may take
    log_level     PLIMSOLL_LOG_LEVEL
    """

    api_url: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://", validation_alias="PLIMSOLL_URL")
    api_s_max: float = Field(default=60.0, gt=0, le=600, validation_alias="PLIMSOLL_PAGES_API_S_MAX")
    log_level: str = Field(default="INFO", validation_alias="PLIMSOLL_LOG_LEVEL")
