"""A spec: something wanted of an assignment, with a name, as a goal, as a constraint or as either."""

from __future__ import annotations

import dataclasses
from abc import ABCMeta
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform

from libs.assignment.language.errors import ModelError, UnknownName
from libs.assignment.language.expressions.expression import Expression, sum_of
from libs.assignment.language.specs.fields import check_fields, from_plain

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem

SPECS: dict[str, type[Spec]] = {}
"""Every spec by its name."""

S = TypeVar("S", bound="type[Spec]")


class Worded(ABCMeta):
    """Makes a spec from the words given for its fields; a name that is no field is refused with the nearest."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """Checked before and after. A subclass that is not made a spec itself sees to its words."""
        if "__dataclass_fields__" not in vars(cls):
            return super().__call__(*args, **given)
        fields = {field.name: field for field in dataclasses.fields(cast(Any, cls))}
        if args:
            raise ModelError(f"{cls.__name__}: {args[0]!r}: give fields by name; it has {', '.join(fields)}")
        for name in given:
            if name not in fields:
                raise UnknownName(cls.__name__, "field", name, fields)
        missing = [name for name, field in fields.items() if _required(field) and name not in given]
        if missing:
            raise ModelError(f"{cls.__name__}: needs {', '.join(missing)}")
        made = super().__call__(**from_plain(cls, cls.__name__, given))
        check_fields(made, cls.__name__)
        return made


@dataclass(frozen=True, kw_only=True)
class Spec(metaclass=Worded):
    """The words of one wish. `name` is for people: two specs of one kind are told apart by it."""

    name: str = ""

    @property
    def where(self) -> str:
        """How errors and reports call it."""
        return f"{type(self).__name__} {self.name!r}" if self.name else type(self).__name__

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """As a constraint: arrays whose elements are 0 where it holds and say by how much it is broken elsewhere."""
        raise ModelError(f"{self.where} can only be a goal; use add_goal")

    def cost(self, problem: Problem) -> Expression:
        """As a goal: the (1, 1) value to make small. Without a meaning of its own: all that is in excess."""
        return sum_of(tuple(part.total() for part in self.excess(problem)))

    def scale(self, problem: Problem) -> float:
        """The value at which the goal is about as wrong as it can be: divided by it, unlike goals compare."""
        return float(len(problem.objects))

    def refuse(self, field: str, what: object, why: str) -> ModelError:
        """An error about a field."""
        return ModelError(f"{self.where}: {field} = {what!r}: {why}")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def spec(cls: S) -> S:
    """Make a frozen dataclass of a spec and register it; the same definition run again takes its own place.

    ModelError: another spec has the name.
    """
    known = SPECS.get(cls.__name__)
    if known is not None and _home(known) != _home(cls):
        raise ModelError(f"@spec: {'.'.join(_home(known))} is named {cls.__name__!r} too; give yours another name")
    made = dataclass(frozen=True, kw_only=True)(cls)
    SPECS[made.__name__] = made
    return cast(S, made)


def spec_named(name: str) -> type[Spec]:
    """The spec of a name, or an error that says which name is nearest."""
    if name not in SPECS:
        raise UnknownName("specs", "spec", name, SPECS)
    return SPECS[name]


def _home(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
