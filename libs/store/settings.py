"""Where the database is."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class StoreSettings(BaseSettings):
    """DATABASE_URL, as PostgreSQL's own tools take it: postgresql://user:password@host:port/name."""

    database_url: SecretStr = Field(validation_alias="DATABASE_URL")
    database_pool_size: int = Field(default=10, ge=1, le=100, validation_alias="PLIMSOLL_DATABASE_POOL_SIZE")
