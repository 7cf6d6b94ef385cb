"""Read YAML so that every error names its line and field.

Only mappings, lists and plain values are read. Anchors, tags, and keys that occur twice are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import yaml

_TEXTS = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_FLAGS = {"true": True, "false": False}


class FileError(ValueError):
    """The file cannot be used. The message names the line and the field."""


@dataclass(frozen=True, slots=True)
class Place:
    """A value of a file, with its path of fields, such as `issuers[0].rules[2].role`."""

    node: yaml.Node
    field: str

    @property
    def line(self) -> int:
        """The line in the file, from 1."""
        return int(self.node.start_mark.line) + 1

    def fail(self, message: str) -> FileError:
        """Return an error about this value."""
        return FileError(f"line {self.line}: {self.field or 'the file'} {message}")

    def fields(self, known: Collection[str], required: Collection[str] = ()) -> dict[str, Place]:
        """Return the fields of a mapping. `known` names all that it may have. Raises FileError."""
        found = self.entries()
        for name, value in found.items():
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise value.fail(f"is unknown: {f'did you mean {near[0]}?' if near else ', '.join(known)}")
        for name in required:
            if name not in found:
                raise self.fail(f"has no {name}")
        return found

    def entries(self) -> dict[str, Place]:
        """Return the entries of a mapping with any keys. Raises FileError."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.fail("must be a mapping")
        found: dict[str, Place] = {}
        for key, value in self.node.value:
            name = Place(key, self.field).text()
            if name in found:
                raise Place(key, self.field).fail(f"has {name} twice")
            found[name] = Place(value, f"{self.field}.{name}" if self.field else name)
        return found

    def items(self, *, most: int, one: bool = False) -> list[Place]:
        """Return the items of a list. With `one`, a single value counts as a list of one. Raises FileError."""
        if one and isinstance(self.node, yaml.ScalarNode):
            return [self]
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.fail("must be a list")
        if len(self.node.value) > most:
            raise self.fail(f"has {len(self.node.value)} items; at most {most} are allowed")
        return [Place(item, f"{self.field}[{row}]") for row, item in enumerate(self.node.value)]

    def text(self, *, most: int = 300) -> str:
        """Return a text of 1 to `most` printable characters. Raises FileError."""
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag not in _TEXTS:
            raise self.fail("must be a text; put quotes around words such as yes and null")
        text = str(self.node.value)
        if not 1 <= len(text) <= most or not text.isprintable():
            raise self.fail(f"must have 1 to {most} printable characters")
        return text

    def choice(self, known: Sequence[str]) -> str:
        """Return a text of `known`. Raises FileError that names the nearest."""
        text = self.text()
        if text not in known:
            near = get_close_matches(text, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise self.fail(f"is {text}, which is unknown: {hint}")
        return text

    def flag(self) -> bool:
        """Return true or false. Raises FileError."""
        if not isinstance(self.node, yaml.ScalarNode) or self.node.value not in _FLAGS:
            raise self.fail("must be true or false")
        return _FLAGS[self.node.value]


def read_places(content: str) -> Place:
    """Return the document of a YAML file. Raises FileError."""
    try:
        for event in yaml.parse(content, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise FileError(f"line {event.start_mark.line + 1}: anchors and aliases are not allowed")
        node = yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise FileError(f"line {1 if mark is None else mark.line + 1}: is not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise FileError("line 1: is not YAML, or nested too deeply") from error
    if node is None:
        raise FileError("line 1: the file is empty")
    return Place(node, "")
