"""Group commands, and import a command only when it runs: showing a server must not wait for a solver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from libs.domain.validation_words import without_library_words

Commands = Mapping[str, tuple[str, str]]
"""Commands by name: the place, `module:function` or `module:app`, and the sentence in --help."""
_SECONDS = "SECONDS"
"""The metavar of waits, which may be inf: as long as it takes."""


def lazy_group(sections: Mapping[str, Commands]) -> type[TyperGroup]:
    """Return a class of groups with these commands, by heading of --help. The sentence of a command is the first of its
    own help.
    """
    commands = {name: place for section in sections.values() for name, place in section.items()}

    class LazyGroup(TyperGroup):
        """Imports a command by name."""

        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of all commands."""
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Return a command; None for an unknown name."""
            return _import(cmd_name, commands[cmd_name][0]) if cmd_name in commands else None

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Refuse options before the command, and answer an unknown command with the nearest name."""
            first = args[0] if args else "--help"
            own = {name for parameter in self.params for name in parameter.opts}
            if first != "--help" and first not in own and first not in commands:
                if first.startswith("-"):
                    example = next(iter(commands))
                    ctx.fail(f"{first} must come after the command: {ctx.command_path} {example} {first}")
                near = get_close_matches(first, commands, n=1)
                ctx.fail(f"no command is called {first}" + (f": did you mean {near[0]}?" if near else ""))
            return super().parse_args(ctx, args)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write the list of --help without importing a command."""
            for heading, section in sections.items():
                with formatter.section(heading):
                    formatter.write_dl([(name, said) for name, (_, said) in section.items()])

    return LazyGroup


def _import(name: str, place: str) -> TyperCommand | TyperGroup:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    assert isinstance(command, TyperCommand | TyperGroup)
    command.name = name
    for parameter in _parameters(command):
        parameter.process_value = partial(_value, parameter, parameter.process_value)
    return command


def _parameters(command: Any) -> Iterator[Any]:
    """Yield the options and arguments of a command and of all below it."""
    yield from command.params
    for inner in getattr(command, "commands", {}).values():
        yield from _parameters(inner)


def _value(parameter: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the value of an option or argument. Say in our own words that it is wrong.

    nan and inf are refused here. The message of a bound would say nothing of nan, which is neither below nor above.
    JSON has neither of them, so a request with one would fail under the name of its field.
    """
    descriptor = parameter.type_descriptor
    if descriptor.annotation is float and descriptor.parameter_info.parser is None and _is_wrong(value, parameter):
        raise typer.BadParameter(f"{value} is no number: write one such as 1.5", ctx=ctx, param=parameter)
    try:
        return process(ctx, value)
    except typer.BadParameter as error:
        error.message = without_library_words(error.message)
        raise


def _is_wrong(value: Any, parameter: Any) -> bool:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False  # a value that is absent, or that the parser refuses in other words
    return math.isnan(number) or (math.isinf(number) and parameter.metavar != _SECONDS)
