"""How figures and designs are spelled for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs import DESIGNS

if TYPE_CHECKING:
    from meshwright.designs import Plan


def name_of(plan: Plan) -> str:
    """Return a design's title with its parameters, such as 'Low-ODA (k = 5)'."""
    known = DESIGNS.get(plan.algorithm)
    title = known.title if known else plan.algorithm
    told = ", ".join(
        f"{name.replace('_', ' ')} = {value:,}" if isinstance(value, int) else f"{name} = {value}"
        for name, value in plan.parameters.items()
    )
    return f"{title} ({told})" if told else title


def duration(seconds: float) -> str:
    """Spell a time in the unit that suits it.

    >>> duration(0.0042), duration(0.25), duration(3.14159), duration(200)
    ('4.2 ms', '250 ms', '3.1 s', '3 min 20 s')
    """
    if seconds < 0.00995:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return f"{round(seconds) // 60} min {round(seconds) % 60} s"


def percentage(share: float) -> str:
    """Spell a share so that '100 %' means all of it and '0 %' nothing, never a rounding.

    >>> percentage(1.0), percentage(0.99999), percentage(0.5), percentage(1e-9), percentage(0.0)
    ('100 %', '99.9 %', '50.0 %', '0.1 %', '0 %')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(share * 100, 0.1), 99.9):.1f} %"
