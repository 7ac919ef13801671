"""The options of all analyses on the command line, generated from what each declares."""

from __future__ import annotations

import dataclasses
import sys
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from headscope._util.plugins import registered_analyses
from headscope.cli.option_groups import OptionGroup
from headscope.errors import HeadscopeError

WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""How a truth value may be written."""


class AnalysisOptions(OptionGroup):
    """What the user set of the options of analyses.

    `--dependencies-possessive` and `--set dependencies.possessive=true` mean the same.

    Attributes:
        values: by analysis and option, only those that were set.

    >>> given = AnalysisOptions(set_=["dependencies.possessive=true"], distances_rows=100)
    >>> given.values
    {'dependencies': {'possessive': True}, 'distances': {'rows': 100}}
    """

    def __init__(self, set_: list[str] | None = None, **named: Any) -> None:
        self.values: dict[str, dict[str, Any]] = {}
        for assignment in set_ or ():
            place, equals, text = assignment.partition("=")
            name, dot, option = place.partition(".")
            if not equals or not dot:
                raise typer.BadParameter(f"--set takes ANALYSIS.OPTION=VALUE, not {assignment!r}.")
            self._set(name, option, text)
        for (name, option), parameter in _declared().items():
            value = named.get(parameter.name)
            if value is not None:
                self._set(name, option, value)

    def _set(self, name: str, option: str, value: Any) -> None:
        """Set an option; names that do not exist are an error when the options are resolved."""
        kind = _types(name).get(option)
        if isinstance(value, str) and kind is not None:
            value = parse_value(value, kind, f"{name}.{option}")
        values = self.values.setdefault(name, {})
        if values.get(option, value) != value:
            raise typer.BadParameter(f"{name}.{option} is set twice: {values[option]}, {value}.")
        values[option] = value

    def of(self, only: list[str] | None) -> dict[str, dict[str, Any]]:
        """The values, for a run of these analyses; None: all."""
        for name in self.values:
            if only is not None and name not in only:
                raise typer.BadParameter(f"{name} has options but is not among {', '.join(only)}.")
        return self.values

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """An option for each field of each analysis's options, and `--set`."""
        help_text = "Set an option of an analysis; repeatable."
        set_option = typer.Option("--set", help=help_text, metavar="ANALYSIS.OPTION=VALUE")
        generic = Parameter(
            "set_",
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[list[str] | None, set_option],
        )
        return [generic, *_declared().values()]


@cache
def _types(name: str) -> dict[str, Any]:
    """The options of an analysis with their types; none of an analysis that does not exist."""
    kind = registered_analyses().get(name)
    if kind is None:
        return {}
    hints = get_type_hints(kind.options_type)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind.options_type)}


@cache
def _declared() -> dict[tuple[str, str], Parameter]:
    """A parameter for each option of each analysis."""
    return {
        (name, field.name): _parameter(name, field, _types(name)[field.name])
        for name, kind in registered_analyses().items()
        for field in dataclasses.fields(kind.options_type)
    }


def _parameter(name: str, field: dataclasses.Field[Any], kind: Any) -> Parameter:
    flag = f"--{name}-{field.name}".replace("_", "-")
    several = get_origin(kind) is tuple
    default = "" if kind is bool or several else rf" \[default: {field.default}]"
    if kind is bool and field.default:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    option = typer.Option(
        flag,
        help=f"{field.metadata.get('help', '')}{default}",
        metavar="WORD,WORD,...|@FILE" if several else None,
        show_default=False,
        rich_help_panel=f"Options of {name}",
    )
    return Parameter(
        f"{name}_{field.name}",
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(str if several else kind) | None, option],
    )


def parse_value(text: str, kind: Any, place: str) -> Any:
    """The value of an option from its text.

    Args:
        kind: bool, int, float, str, or a tuple of str: items with commas, or `@FILE` with one a
            line.
        place: the option, for the message about a text that cannot be read.

    >>> parse_value("true", bool, "a.b"), parse_value("3", int, "a.b")
    (True, 3)
    >>> parse_value("not, never", tuple[str, ...], "a.b")
    ('not', 'never')
    """
    if get_origin(kind) is tuple:
        if text.startswith("@"):
            from headscope.corpus import word_list

            return word_list(Path(text[1:]))
        return tuple(item.strip() for item in text.split(",") if item.strip())
    try:
        return WORDS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        expected = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise HeadscopeError(f"{place} is {expected}, not {text!r}") from None


def print_analyses(wanted: bool) -> None:
    """Print every analysis with what it says of itself, and stop (a callback of `--list`)."""
    if wanted:
        from headscope.analyses import describe_class

        for name, kind in registered_analyses().items():
            sys.stdout.write(f"{name}: {describe_class(kind)[0]}\n")
        raise typer.Exit
