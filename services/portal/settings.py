"""The portal's environment."""

from __future__ import annotations

from pydantic import Field

from libs.reconcile.settings import ClockSettings
from libs.store.settings import StoreSettings
from libs.web.rates import RateSettings


class PortalSettings(StoreSettings, ClockSettings, RateSettings):
    """The database, the clock, how fast clients may ask, and how much to log."""

    log_level: str = Field(default="INFO", validation_alias="PLIMSOLL_LOG_LEVEL")
