"""Convert specs, limits and options to JSON with arrays stored separately, and back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.assignment.language.errors import ModelError, UnknownName
from libs.assignment.replay.vocabulary import Vocabulary, vocabulary_of

Arrays = dict[str, NDArray[Any]]


class Writer:
    """Converts values to JSON: enums by name, dataclasses by fields, arrays by the name of their entry in the file."""

    def __init__(self, known: Vocabulary | None = None) -> None:
        self.known = vocabulary_of(()) if known is None else known
        self.arrays: Arrays = {}

    def write(self, where: str, value: object) -> Any:
        """Return the JSON of a value. Raises ModelError for a value without a JSON form."""
        if value is None or (isinstance(value, bool | str) and not isinstance(value, Enum)):
            return value
        if isinstance(value, Enum):
            return {"enum": self._name_of(where, value), "name": value.name}
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
            return self.keep(np.asarray(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(where, value)
        if isinstance(value, Mapping):
            return {"mapping": [[self.write(where, key), self.write(where, one)] for key, one in value.items()]}
        if isinstance(value, list | tuple | range):
            return {type(value).__name__ if isinstance(value, tuple) else "list": [self.write(where, v) for v in value]}
        raise ModelError(f"{where}: a {type(value).__name__} cannot be kept in a replay file")

    def keep(self, array: NDArray[Any]) -> dict[str, str]:
        """Store an array separately, and return its reference."""
        if array.dtype.hasobject:
            raise ModelError(f"an array of {array.dtype} cannot be kept in a replay file; give numbers or names")
        name = f"array{len(self.arrays)}"
        self.arrays[name] = array
        return {"array": name}

    def _dataclass(self, where: str, value: Any) -> dict[str, Any]:
        name = self._name_of(where, value)
        fields = {
            field.name: self.write(f"{where}, {field.name}", getattr(value, field.name)) for field in _fields(value)
        }
        return {"type": name, "fields": fields}

    def _name_of(self, where: str, value: Any) -> str:
        name = type(value).__name__
        if self.known.get(name) is not type(value):
            raise ModelError(
                f"{where}: {name} is no class of the language; "
                f"give it to save_replay, and to load_replay later: vocabulary=[{name}]"
            )
        return name


class Reader:
    """Converts JSON back to values. Refuses unknown names with the nearest one."""

    def __init__(self, arrays: Arrays, known: Vocabulary | None = None) -> None:
        self.known = vocabulary_of(()) if known is None else known
        self.arrays = arrays

    def read(self, where: str, given: Any) -> Any:
        """Return the value of a piece of JSON."""
        if not isinstance(given, dict):
            return given
        if "array" in given:
            return self.array(where, given)
        if "enum" in given:
            return self._member(where, given)
        if "type" in given:
            return self._dataclass(where, given)
        if "float" in given:
            return float(given["float"])
        if "mapping" in given:
            return {self.read(where, key): self.read(where, one) for key, one in given["mapping"]}
        if "tuple" in given:
            return tuple(self.read(where, one) for one in given["tuple"])
        if "list" in given:
            return [self.read(where, one) for one in given["list"]]
        raise ModelError(f"{where}: {sorted(given)} is not a known kind of value")

    def array(self, where: str, given: Any) -> NDArray[Any]:
        """Return a separately stored array."""
        name = given.get("array") if isinstance(given, dict) else None
        if name not in self.arrays:
            raise ModelError(f"{where}: array {name!r} is not in the file")
        return self.arrays[name]

    def _member(self, where: str, given: dict[str, Any]) -> Enum:
        kind = self._type(where, given["enum"])
        if not issubclass(kind, Enum):
            raise ModelError(f"{where}: {given['enum']} is not an enum")
        if given.get("name") not in kind.__members__:
            raise UnknownName(where, kind.__name__, str(given.get("name")), kind.__members__)
        return kind[given["name"]]

    def _dataclass(self, where: str, given: dict[str, Any]) -> Any:
        kind = self._type(where, given["type"])
        if not dataclasses.is_dataclass(kind):
            raise ModelError(f"{where}: {given['type']} has no fields")
        fields = given.get("fields", {})
        expect(f"{where}, {kind.__name__}", fields, [field.name for field in _fields(kind)])
        return kind(**{name: self.read(f"{where}, {name}", one) for name, one in fields.items()})

    def _type(self, where: str, name: object) -> type:
        """Return a class of the vocabulary by its name."""
        if name not in self.known:
            refused = UnknownName(where, "type", str(name), self.known)
            raise ModelError(f"{refused} If it is a class of your own, load_replay(path, vocabulary=[...]) takes it")
        return self.known[str(name)]


def expect(where: str, given: Any, known: list[str], *, needed: tuple[str, ...] = ()) -> None:
    """Require known fields only, and all needed ones."""
    if not isinstance(given, dict):
        raise ModelError(f"{where}: expected fields, got {type(given).__name__}")
    for name in given:
        if name not in known:
            raise UnknownName(where, "field", name, known)
    missing = [name for name in needed if name not in given]
    if missing:
        raise ModelError(f"{where}: needs {', '.join(missing)}")


def _fields(of: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(of) if field.init]
