"""Format numbers for people: durations, shares, amounts."""

import math


def duration(seconds: float) -> str:
    """Format a time in the unit that suits it.

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
    """Format a share so that only all of it is '100 %' and only nothing is '0 %'.

    >>> percentage(1.0), percentage(0.99999), percentage(0.5), percentage(1e-9), percentage(0.0)
    ('100 %', '99.9 %', '50.0 %', '0.1 %', '0 %')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(share * 100, 0.1), 99.9):.1f} %"


def excess(share: float) -> str:
    """Format by how much something is at most above a bound: rounded up, so that it stays true.

    >>> excess(0.0), excess(0.04101), excess(1.5)
    ('0 %', '4.2 %', '150 %')
    """
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g} %"


def amount(value: float) -> str:
    """Format a number of any size with four digits, or with all digits before the point.

    >>> amount(1234567.8), amount(12.3456), amount(0.00012345), amount(1e30)
    ('1,234,568', '12.35', '0.0001234', '1e+30')
    """
    return f"{value:,.0f}" if 1000 <= value < 1e15 else f"{value:.4g}"


def shown(value: object) -> str:
    """Return a figure of any kind for people: counts with commas, other numbers with four digits.

    >>> [shown(value) for value in (12345, 0.123456, "low", True)]
    ['12,345', '0.1235', 'low', 'yes']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def counted(count: int, noun: str) -> str:
    """Format a count with its noun, singular or plural.

    >>> counted(1, "link"), counted(2000, "broker"), counted(0, "hop")
    ('1 link', '2,000 brokers', '0 hops')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
