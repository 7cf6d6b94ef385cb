"""Settings from the environment. A process reads them once, at its start, and fails in one line if one is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from libs.domain.validation_words import without_library_words

S = TypeVar("S", bound=BaseSettings)
T = TypeVar("T")
SECRETS_DIR = "PLIMSOLL_SECRETS_DIR"


class Settings(BaseSettings):
    """The base of all settings. An error never shows a value: it may be a password, and errors are logged.

    A variable that is not set may be a file of its name in the folder PLIMSOLL_SECRETS_DIR. Container engines and
    Kubernetes mount secrets so.
    """

    model_config = SettingsConfigDict(hide_input_in_errors=True)

    @classmethod
    def from_environment(cls) -> Self:
        """Return the settings that the environment holds, in a process that runs. Raises ValidationError.

        A process that starts calls read_environment instead.
        """
        return cls()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in their order: the first that has a value wins."""
        folder = os.environ.get(SECRETS_DIR)
        if not folder:
            return init_settings, env_settings
        if not Path(folder).is_dir():
            raise SystemExit(f"plimsoll: the environment is wrong: {SECRETS_DIR} is not a folder: {folder}")
        return init_settings, env_settings, SecretsSettingsSource(settings_cls, secrets_dir=folder)


def read_environment(kind: type[S]) -> S:
    """Return the settings that the environment holds.

    Raises SystemExit with one line that names each variable that is missing or wrong.
    """
    return wrong_in_one_line(kind)


def wrong_in_one_line(read: Callable[[], T]) -> T:
    """Return the result of `read`, which reads settings at the start of a process.

    Raises SystemExit with one line that names each variable that is missing or wrong.
    """
    try:
        return read()
    except ValidationError as error:
        wrong = [_reason(e["loc"], e["type"], e["msg"]) for e in error.errors()]
    except SettingsError as error:  # a value that should be JSON
        fields = [item for kind in _kinds(Settings) for item in kind.model_fields.items()]
        found = sorted({str(field.validation_alias) for name, field in fields if f'"{name}"' in str(error)})
        wrong = [f"{variable}: is not JSON" for variable in found] or [str(error)]
    except ValueError as error:  # what a variable names, such as a file
        wrong = [" ".join(str(error).split())]
    raise SystemExit(f"plimsoll: the environment is wrong: {'; '.join(wrong)}")


def _reason(place: tuple[int | str, ...], kind: str, message: str) -> str:
    """Return what is wrong. `place` is empty if it is about several variables: then the message names them."""
    said = without_library_words(message)
    if not place:
        return said
    return f"{'.'.join(map(str, place))} {'is not set' if kind == 'missing' else f'is wrong: {said}'}"


def _kinds(kind: type[Settings]) -> list[type[Settings]]:
    return [kind, *(below for one in kind.__subclasses__() for below in _kinds(one))]


@contextmanager
def given_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Give this process another environment for the block. No other thread may read it meanwhile."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
