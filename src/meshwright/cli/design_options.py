"""Options of designs, made from the registry."""

from __future__ import annotations

from inspect import Parameter
from typing import Annotated, Any, TypeAlias

import typer

from meshwright.actions.plan import DESIGNS, PARAMETERS, describe_parameter

*_OTHERS, _LAST = DESIGNS

Algorithm: TypeAlias = Annotated[
    str, typer.Option("--algorithm", metavar="NAME", help=f"{', '.join(_OTHERS)} or {_LAST}.")
]


class DesignParameters(dict[str, Any]):
    """The parameters of designs: an option for each one that is declared."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            {name: value for name, value in given.items() if value is not None and value is not False}
        )

    @classmethod
    def as_options(cls) -> list[Parameter]:
        """Return an option for each parameter, with its type and range."""
        options = []
        for name, declared in PARAMETERS.items():
            flag, whole = declared.kind is bool, declared.kind is int  # the parser knows ranges of these
            option = typer.Option(
                f"--{name.replace('_', '-')}",
                metavar=None if flag else declared.metavar or "|".join(declared.choices),
                min=declared.least if whole else None,
                help=describe_parameter(name) + ("" if whole else declared.range and f"  [{declared.range}]"),
                rich_help_panel="Parameters of designs",
            )
            annotation = Annotated[bool if flag else declared.kind | None, option]  # type: ignore[valid-type]
            default = False if flag else None
            options.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        return options
