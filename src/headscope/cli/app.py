"""The registry of verbs, and the program made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar, cast

import typer

from headscope._util.plugins import register
from headscope.cli.errors import report_errors
from headscope.cli.option_groups import expand_groups

Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True)
class Verb:
    """A verb of the command line.

    Attributes:
        function: its docstring is the verb's help.
        group: the panel that it is listed in.
        order: a lower one is listed first; so is the group of the lowest.
        examples: command lines without the program's name.
    """

    name: str
    function: Callable[..., None]
    group: str
    order: int
    examples: tuple[str, ...]


_VERBS: dict[str, Verb] = {}


def verb(
    name: str, *, group: str = "Plug-ins", order: int = 800, examples: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    """Register a function as a verb; a name that is taken is an error.

    Its parameters are arguments and options of the verb, with Typer's annotations (see
    `cli.options`), or groups of options (see `OptionGroup`).

    Args:
        group: the panel of `headscope --help` that it is listed in.
        order: a lower one is listed first.
        examples: for its help: command lines without the program's name.
    """

    def add(function: Function) -> Function:
        entry = Verb(name, function, group, order, examples)
        register(cast(dict[str, object], _VERBS), "verb", name, entry)
        return function

    return add


def make_app(typed: str | None = None) -> typer.Typer:
    """The program with all verbs that are registered.

    Args:
        typed: the verb that will be run; the others are listed without their options, some of which
            take time to collect. None: all verbs have their options.
    """
    app = typer.Typer(
        help="What the attention heads of a transformer do, with evidence on every number.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_global_options)
    first: dict[str, int] = {}
    for entry in sorted(_VERBS.values(), key=lambda entry: entry.order):
        first.setdefault(entry.group, entry.order)
    for entry in sorted(_VERBS.values(), key=lambda entry: (first[entry.group], entry.order)):
        lines = ["Examples:", *(f"headscope {line}" for line in entry.examples)]
        app.command(
            entry.name,
            rich_help_panel=entry.group,
            epilog="\n\n".join(lines) if entry.examples else None,
            help=entry.function.__doc__,
        )(
            report_errors(expand_groups(entry.function))
            if typed in (None, entry.name)
            else _not_typed
        )
    return app


def _not_typed() -> None:
    """Stands for the function of a verb that is listed only."""


def print_version(wanted: bool = True) -> None:
    """Print the version and stop."""
    if wanted:
        from headscope import __version__

        print(__version__)
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the program itself."""
