"""Read the settings of standalone from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import SettingsConfigDict

from libs.reconcile.environment import Settings
from libs.store.platform.settings import DatabaseUrl
from libs.web.listening import TrustedProxies

Folder = Annotated[Path, AfterValidator(Path.absolute)]


def _default_state_dir() -> Path:
    return XdgSettings().state_home / "plimsoll"


class XdgSettings(Settings):
    """The place where programs of this user keep their state."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    state_home: Folder = Field(
        default_factory=lambda: Path.home() / ".local" / "state", validation_alias="XDG_STATE_HOME"
    )


class StandaloneSettings(Settings):
    """The settings of standalone. All have defaults. By default an embedded database runs below `state_dir`.

    state_dir      PLIMSOLL_STATE_DIR   the database, logs and queues; the scripts set it to `var` in the clone
    database_url   DATABASE_URL         a PostgreSQL of one's own
    trusted_proxies   PLIMSOLL_TRUSTED_PROXIES   addresses, with commas, of proxies whose X-Forwarded-For is trusted
    solver_slots   PLIMSOLL_SOLVER_SLOTS   concurrent solves, and likewise plans
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    state_dir: Folder = Field(default_factory=_default_state_dir, validation_alias="PLIMSOLL_STATE_DIR")
    database_url: DatabaseUrl | None = Field(default=None, validation_alias="DATABASE_URL")

    trusted_proxies: TrustedProxies | None = Field(default=None, validation_alias="PLIMSOLL_TRUSTED_PROXIES")
    solver_slots: int = Field(default=1, ge=1, le=256, validation_alias="PLIMSOLL_SOLVER_SLOTS")

    @property
    def log_dir(self) -> Path:
        """The folder of logs, with one file per child process."""
        return self.state_dir / "logs"

    @property
    def alive_dir(self) -> Path:
        """The folder of the files that workers and the scheduler touch while their loops turn."""
        return self.state_dir / "alive"

    @property
    def endpoint_file(self) -> Path:
        """The file in which a running platform gives its address: {"url": ..., "token_file": ...}."""
        return self.state_dir / "endpoint.json"

    @property
    def port_file(self) -> Path:
        """The file with the last port of a platform. The next one takes the same port unless another is given."""
        return self.state_dir / "port"

    @property
    def pages_port_file(self) -> Path:
        """The file with the last port of the pages. The next ones take the same port unless another is given."""
        return self.state_dir / "pages-port"
