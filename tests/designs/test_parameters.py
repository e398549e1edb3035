"""Parameters of designs: those that fit are taken, and each that does not has its own line."""

from __future__ import annotations

from typing import Any

import pytest

from meshwright.designs.registry import check_parameters
from meshwright.errors import InputError


@pytest.mark.parametrize(
    ("names", "given", "complaint"),
    [
        (["gpm"], {}, "gpm needs --max-degree, .*, or --ratio: give it"),
        (["gpm"], {"ratio": 0.2, "max_degree": 3}, "--ratio and --max-degree both set the budget of gpm"),
        (["ring"], {"max_degree": 3}, "ring takes no --max-degree: leave it out, or take gm or "),
        (["ring", "cd"], {"max_degree": 3}, "ring, cd take no --max-degree"),
        (["gpm"], {"ratio": 1.1}, "--ratio is 1.1: give a number from 0 to 1"),
        (["gpm"], {"ratio": -0.1}, "--ratio is -0.1: give a number from 0 to 1"),
        (["low"], {"strict": True, "costs": "c"}, "--strict and --costs cannot be combined"),
        (["best"], {"seconds": 1.0, "steps": 5}, "--seconds and --steps both limit the search"),
        (["best"], {"k": 2.0, "objective": "edges"}, "--k applies to best only with --objective balanced"),
    ],
)
def test_options_that_do_not_fit(names: list[str], given: dict[str, Any], complaint: str) -> None:
    """Each combination that means nothing is refused."""
    with pytest.raises(InputError, match=complaint):
        check_parameters(names, given, options=True)


def test_only_commands_of_several_designs_say_add() -> None:
    """`compare` can add a design that takes the option; `plan` has to take another one."""
    for several, said in ((True, "leave it out, or add gm"), (False, "leave it out, or take gm")):
        with pytest.raises(InputError, match=said):
            check_parameters(["ring"], {"max_degree": 3}, options=True, several=several)


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (["gm"], {}),
        (["gpm"], {"max_degree": 3}),
        (["gpm"], {"ratio": 0.0}),
        (["gpm"], {"ratio": 1}),
        (["gm", "gpm"], {"max_degree": 3}),
        (["best"], {"k": 2.0, "objective": "balanced", "steps": 5}),
        (["low", "best"], {"k": 2.0}),
    ],
)
def test_options_that_fit(names: list[str], given: dict[str, Any]) -> None:
    """An option is fine if one of the designs takes it."""
    check_parameters(names, given, options=True)


def test_errors_name_parameters_as_the_caller_writes_them() -> None:
    """In Python a parameter has its name, on the command line its option."""
    with pytest.raises(
        InputError, match=r"^gpm needs max_degree, the budget: links per broker, or ratio: give"
    ):
        check_parameters(["gpm"], {})
    with pytest.raises(InputError, match=r"^gpm needs --max-degree, the budget: links per broker, or"):
        check_parameters(["gpm"], {}, options=True)
