"""Numbers, and names from the data, for people.

Durations, shares and amounts are formatted here. Names may hold anything: markup, links, sequences that steer
a terminal, and characters that reverse the text around them. `escape_…` shows them in one kind of target;
characters that cannot be seen become visible first, in all of them. URLs lose their secrets, except in files
for Graphviz, where names are data.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata


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


_CREDENTIALS = re.compile(
    r"\b([a-z][a-z0-9+.-]{0,20}:/{1,3})[^\s/@:'\"]{0,200}:(?!\d+/)(?:[^\s/'\"]{1,300}|[^\s@'\"]{1,300})@"
    r"|\b(s3a?:/*)[^\s/@'\"]{1,300}@",
    re.IGNORECASE,
)
"""A user and a password in a URL; digits and a slash after the colon are a port. Limited, to stay linear."""
_SECRET_OPTIONS = re.compile(
    r"([?&;](?:sig|sas|[\w.-]{0,40}(?:key|secret|token|passw(?:or)?d|pwd|credential|signature)[\w.-]{0,40})=)"
    r"[^\s&;'\"<>]*[^\s&;'\"<>:,.)]",
    re.IGNORECASE,
)
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that steer a terminal, reverse text, or are not seen at all."""
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
"""Characters that mean something in Markdown or in one of its dialects."""


def hide_secrets(text: str) -> str:
    """Return a text whose URLs have no passwords, keys and signatures: for whatever is shown or stored.

    >>> hide_secrets("s3://KEY:SECRET@bucket/a?region=x&access_key=K"), hide_secrets("hdfs://host:8020/a@b")
    ('s3://…@bucket/a?region=x&access_key=…', 'hdfs://host:8020/a@b')
    """
    if ":" not in text:
        return text
    return _SECRET_OPTIONS.sub(r"\1…", _CREDENTIALS.sub(r"\1\2…@", text))


def visible(text: str, keep: str = "") -> str:
    r"""Return a text in which every character can be seen; those in `keep` stay as they are.

    >>> visible("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    """
    if text.isprintable():  # no such character is printable
        return text
    return "".join(
        letter if letter in keep or unicodedata.category(letter) not in UNSEEN else _code(letter)
        for letter in text
    )


def _code(letter: str) -> str:
    number = ord(letter)
    return (
        f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65_536 else f"\\U{number:08x}"
    )


def escape_terminal(text: str) -> str:
    r"""Return a text for a terminal: lines and tabs stay, everything else that steers a terminal is shown.

    >>> escape_terminal("a\tb\x1b]0;title\x07")
    'a\tb\\x1b]0;title\\x07'
    """
    return visible(hide_secrets(text), keep="\n\t")


def escape_json(text: str) -> str:
    r"""Return a JSON text that means the same, without characters that steer a terminal.

    >>> escape_json('{"name": "\x9b\u202e"}')
    '{"name": "\\u009b\\u202e"}'
    """
    text = hide_secrets(text)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        letter if letter == "\n" or unicodedata.category(letter) not in UNSEEN else _json_code(letter)
        for letter in text
    )


def _json_code(letter: str) -> str:
    """Return the code of a character in JSON: one unit of UTF-16, or a pair of them."""
    units = letter.encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return "".join(f"\\u{unit}" for unit in units.split())


def escape_html(text: str) -> str:
    """Return a text for HTML, inside an element or a quoted attribute; never for the address of a link.

    >>> escape_html('<script>"')
    '&lt;script&gt;&quot;'
    """
    return html.escape(visible(hide_secrets(text)))


def escape_markdown(text: str) -> str:
    r"""Return a text for one line of Markdown, also in the cell of a table: no markup, no HTML, no links.

    >>> escape_markdown("[x](javascript:1)|<b>")
    '\\[x\\]\\(javascript:1\\)\\|&lt;b&gt;'
    """
    escaped = MARKDOWN.sub(r"\\\1", visible(hide_secrets(text)))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Many renderers make links of addresses by themselves.
    return escaped.replace("://", "&#58;//").replace("@", "&#64;").replace("www.", "www&#46;")


def escape_markdown_code(text: str) -> str:
    """Return a text as code in Markdown, outside of tables.

    >>> escape_markdown_code("a/#"), escape_markdown_code("a`b")
    ('`a/#`', '`` a`b ``')
    """
    shown = visible(hide_secrets(text))
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    return f"`{shown}`" if not longest else f"{'`' * (longest + 1)} {shown} {'`' * (longest + 1)}"


def escape_dot(text: str) -> str:
    r"""Return a name for Graphviz, in quotes.

    >>> escape_dot('a"b')
    '"a\\"b"'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{visible(escaped)}"'
