"""Options that several verbs share, as one parameter of the function behind each verb."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


class OptionGroup:
    """Options that belong together: a frozen dataclass whose fields are options.

    A verb takes the group as one parameter; on the command line it has all options of the group.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Size(OptionGroup):
    ...     width: int = 3
    >>> def draw(size: Size) -> None:
    ...     print(size)
    >>> expand_groups(draw)(width=5)
    Size(width=5)
    """

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """The options as parameters of a function, with Typer's annotations."""
        hints = get_type_hints(cls, include_extras=True)
        return [
            _parameter(field.name, hints[field.name], _default(field))
            for field in dataclasses.fields(cls)  # type: ignore[arg-type]  # subclasses are dataclasses
        ]


def expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    """A function that takes the options of the groups instead of the groups.

    Required options of groups come first, then the function's own, then the optional ones.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[OptionGroup]] = {}
    own: list[Parameter] = []
    required: list[Parameter] = []
    optional: list[Parameter] = []
    for parameter in signature(function).parameters.values():
        hint = hints[parameter.name]
        if not (isinstance(hint, type) and issubclass(hint, OptionGroup)):
            own.append(_parameter(parameter.name, hint, parameter.default))
            continue
        groups[parameter.name] = hint
        for option in hint.parameters():
            (required if option.default is Parameter.empty else optional).append(option)

    @functools.wraps(function)
    def call(**options: Any) -> None:
        for name, group in groups.items():
            names = [parameter.name for parameter in group.parameters()]
            options[name] = group(**{each: options.pop(each) for each in names})
        function(**options)

    expanded = [*required, *own, *optional]
    call.__signature__ = Signature(expanded)  # type: ignore[attr-defined]  # inspect reads it
    call.__annotations__ = {option.name: option.annotation for option in expanded}
    del call.__wrapped__  # Typer would look at the groups
    return call


def _default(field: dataclasses.Field[Any]) -> Any:
    return Parameter.empty if field.default is dataclasses.MISSING else field.default


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
