"""Define specs: named wishes about an assignment, used as goals, as constraints or as both."""

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
    """The metaclass of specs. It converts fields from plain values, and refuses an unknown field with the
    nearest name.
    """

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """Make a spec, and check its fields before and after. A subclass that is not a spec itself must convert its own
        fields.
        """
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
    """A wish about an assignment. `name` distinguishes two specs of one kind in messages and reports."""

    name: str = ""

    @property
    def where(self) -> str:
        """Return the name for errors and reports."""
        return f"{type(self).__name__} {self.name!r}" if self.name else type(self).__name__

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess of the spec as a constraint: each element is the amount by which the spec is broken there,
        or 0.
        """
        raise ModelError(f"{self.where} can only be a goal; use add_goal")

    def cost(self, problem: Problem) -> Expression:
        """Return the value to minimise as a goal, (1, 1). By default it is the sum of all excess."""
        return sum_of(tuple(part.total() for part in self.excess(problem)))

    def scale(self, problem: Problem) -> float:
        """Return roughly the worst value of the goal. After a division by their scales, different goals compare."""
        return float(len(problem.objects))

    def refuse(self, field: str, what: object, why: str) -> ModelError:
        """Return an error about a field."""
        return ModelError(f"{self.where}: {field} = {what!r}: {why}")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def spec(cls: S) -> S:
    """Make a spec a frozen dataclass and register it. The same definition, run again, replaces itself.

    Raises: ModelError if another spec has the name.
    """
    known = SPECS.get(cls.__name__)
    if known is not None and _home(known) != _home(cls):
        raise ModelError(f"@spec: {'.'.join(_home(known))} is named {cls.__name__!r} too; give yours another name")
    made = dataclass(frozen=True, kw_only=True)(cls)
    SPECS[made.__name__] = made
    return cast(S, made)


def spec_named(name: str) -> type[Spec]:
    """Return the spec of a name. Raises UnknownName with the nearest name."""
    if name not in SPECS:
        raise UnknownName("specs", "spec", name, SPECS)
    return SPECS[name]


def _home(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
