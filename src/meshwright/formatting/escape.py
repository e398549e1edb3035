"""Escape names from the data for each place where they are shown: one function for each target.

Names may hold anything: markup, links, sequences that steer a terminal, and characters that reverse the text
around them. Characters that cannot be seen become visible first, in every target.
"""

from __future__ import annotations

import html as _html
import re
import unicodedata

UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that steer a terminal, reverse text, or are not seen at all."""
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
"""Characters that mean something in Markdown or in one of its dialects."""


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


def terminal(text: str) -> str:
    r"""Return a text for a terminal: lines and tabs stay, everything else that steers a terminal is shown.

    >>> terminal("a\tb\x1b]0;title\x07")
    'a\tb\\x1b]0;title\\x07'
    """
    return visible(text, keep="\n\t")


def json(text: str) -> str:
    r"""Return a JSON text that means the same, without characters that steer a terminal.

    >>> json('{"name": "\x9b\u202e"}')
    '{"name": "\\u009b\\u202e"}'
    """
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


def html(text: str) -> str:
    """Return a text for HTML, inside an element or a quoted attribute; never for the address of a link.

    >>> html('<script>"')
    '&lt;script&gt;&quot;'
    """
    return _html.escape(visible(text))


def markdown(text: str) -> str:
    r"""Return a text for one line of Markdown, also in the cell of a table: no markup, no HTML, no links.

    >>> markdown("[x](javascript:1)|<b>")
    '\\[x\\]\\(javascript:1\\)\\|&lt;b&gt;'
    """
    escaped = MARKDOWN.sub(r"\\\1", visible(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Many renderers make links of addresses by themselves.
    return escaped.replace("://", "&#58;//").replace("@", "&#64;").replace("www.", "www&#46;")


def markdown_code(text: str) -> str:
    """Return a text as code in Markdown, outside of tables.

    >>> markdown_code("a/#"), markdown_code("a`b")
    ('`a/#`', '`` a`b ``')
    """
    shown = visible(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    return f"`{shown}`" if not longest else f"{'`' * (longest + 1)} {shown} {'`' * (longest + 1)}"


def dot(text: str) -> str:
    r"""Return a name for Graphviz, in quotes.

    >>> dot('a"b')
    '"a\\"b"'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{visible(escaped)}"'
