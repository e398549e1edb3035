"""Hostile names: markup, links, escape sequences and characters that deceive the eye."""

NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[click](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "https://evil.example/?a=1",
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b31mred",
    "abc\u202egnp.exe",
    "zero\u200bwidth",
    "line\u2028break",
    "a\nb: injected",
    "a\r\nHeader: x",
    "a|b`c`|d",
    "`; DROP TABLE",
    "=cmd|' /C calc'!A0",
    "$(reboot)",
    "${HOME}",
    "%n%s%i",
    "../../etc/passwd",
    "a\\",
    'quote"; } graph {',
    "[bold red]markup[/]",
    "{{7*7}}",
    "\U000e0041tag",
)
"""Names that brokers, topics or hosts may have in the data."""

UNSEEN = {chr(number) for number in (*range(32), *range(127, 160))} - {"\n", "\t"} | {
    "\u200b", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2028", "\u2029",
    "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff", "\U000e0041",
}  # fmt: skip
"""Characters that no output may hold."""
