"""The generated parts of the documentation, which `conf.py` fills in when the site is built.

They come from the registry of designs, the command line and the import graph, and are not committed. Help is
read from the structure of the commands, not from text that typer formats.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import runpy
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import grimp
import msgspec
import networkx as nx
from typer.main import get_command

import meshwright as mw
from meshwright.cli.main import build_app
from meshwright.deploy import inventory, manifest
from meshwright.designs.registry import DESIGNS
from meshwright.store import datasets, plans, project_file, traffic
from meshwright.store.content import content_plans, workloads

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCE = CHECKOUT / "src" / "meshwright"
DESIGN_PAGES = CHECKOUT / "docs" / "designs"


def table(heading: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def algorithms() -> str:
    """Return each design's promise, parameters and reference, for docs/algorithms.md."""
    rows = []
    for known in DESIGNS.values():
        parameters = [
            f"`{name}`{' (required)' if name in known.required else ''}: {meaning}"
            for name, meaning in known.parameters.items()
        ]
        rows.append(
            [
                f"[`{known.name}`](designs/{known.name}.md)",
                known.title,
                known.guarantee,
                "<br>".join(parameters) or "none",
                known.reference,
            ]
        )
    return table(["name", "design", "guarantee", "parameters", "reference"], rows)


def commands() -> str:
    """Return the help of the program and of each command, for docs/command-line.md."""
    program: Any = get_command(build_app())
    return "\n\n".join(_section(name, command) for name, command in every_command("meshwright", program))


def every_command(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Give a command and all those below it, each with its whole name."""
    yield name, command
    for below, one in getattr(command, "commands", {}).items():
        yield from every_command(f"{name} {below}", one)


def _section(name: str, command: Any) -> str:
    heading, *examples = command.epilog.strip("\b\n").splitlines()
    shown = "\n".join(line.strip() for line in examples)
    parts = [f"## {name}", command.help.strip(), heading, f"```sh\n{shown}\n```"]
    rows = [_row(given) for given in command.params]
    if not rows:
        return "\n\n".join(parts)
    return "\n\n".join([*parts, table(["argument or option", "meaning", "default"], rows)])


def _row(given: Any) -> list[str]:
    if given.param_type_name == "argument":
        usage = given.metavar
    else:
        usage = " ".join([*given.opts, given.metavar or ""]).strip()
    default = "required" if given.required else "" if given.default in (None, False) else f"`{given.default}`"
    return [f"`{usage}`", given.help or "", default]


def names() -> str:
    """Return every public name of the package with its signature and docstring, for docs/python.md."""
    things = {name: getattr(mw, name) for name in mw.__all__ if name != "__version__"}
    own = {name: thing for name, thing in things.items() if not inspect.ismodule(thing)}
    rooms_of = {name: thing for name, thing in things.items() if inspect.ismodule(thing)}
    parts = [_documented(f"mw.{name}", thing) for name, thing in own.items()]
    return "\n\n".join([*parts, *(_documented_room(name, room) for name, room in rooms_of.items())])


def _documented(name: str, thing: Any) -> str:
    """Return the section of a function or class; methods follow in a list."""
    parts = [f"## {name}", f"```python\n{name}{_signature(thing)}\n```", _docstring(thing)]
    if inspect.isclass(thing):
        methods = [
            f"- `.{key}{_signature(value)}`: {_sentence(value)}" for key, value in _public_members(thing)
        ]
        parts += ["\n".join(methods)] if methods else []
    return "\n\n".join(parts)


def _documented_room(name: str, room: Any) -> str:
    """Return the section of a room: its public names, each with its first sentence."""
    keys = getattr(room, "__all__", [key for key in vars(room) if not key.startswith("_")])
    things = {key: getattr(room, key) for key in keys}
    listed = [
        f"- `mw.{name}.{key}`: {_sentence(thing)}"
        for key, thing in things.items()
        if callable(thing) and str(getattr(thing, "__module__", "")).startswith("meshwright")
    ]
    return "\n\n".join([f"## mw.{name}", _docstring(room), "\n".join(listed)])


def _public_members(thing: Any) -> list[tuple[str, Any]]:
    members = []
    for key, value in vars(thing).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        plain = getattr(plain, "fget", None) or getattr(plain, "func", None) or plain
        if not key.startswith("_") and inspect.isfunction(plain) and plain.__doc__:
            members.append((key, value if isinstance(value, (property, cached_property)) else plain))
    return members


def _signature(thing: Any) -> str:
    """Return a signature without annotations, which the text explains; nothing for a property."""
    if isinstance(thing, (property, cached_property)):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(…)"
    bare = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in found.parameters.values()
        if one.name not in ("self", "cls")
    ]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    # A default that is a function is shown by its name: its address differs from run to run.
    return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", text)


def _sentence(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _docstring(thing: Any) -> str:
    """Return a docstring as Markdown: examples become code, parameters and errors a list."""
    lines: list[str] = []
    text = inspect.getdoc(thing) or ""
    for block in re.split(r"\n{2,}", text):
        shown = block.strip("\n")
        if shown.lstrip().startswith(">>>"):
            lines.append(f"```python\n{inspect.cleandoc(shown)}\n```")
        elif match := re.match(r"(Parameters|Raises|Examples|Returns)\n-+\n?", shown):
            rest = shown[match.end() :]
            body = f"```python\n{rest}\n```" if rest.startswith(">>>") else _items(rest)
            lines += [f"*{match[1]}*", *([body] if body else [])]
        else:
            lines.append(shown)
    return "\n\n".join(lines)


def _items(text: str) -> str:
    """Return the items of a section as a list: a name, and what is indented below it."""
    items: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(f"- `{line.strip()}`:")
    return "\n".join(items)


@cache
def _rooms() -> nx.DiGraph:
    """Return the rooms, with an arrow to each room that a room imports."""
    graph: Any = grimp.build_graph("meshwright")
    rooms = nx.DiGraph()
    for module in sorted(graph.modules):
        room = _room_of(module)
        if room is not None:
            rooms.add_node(room)
            for name in sorted(graph.find_modules_directly_imported_by(module)):
                other = _room_of(name)
                if other not in (None, room):
                    rooms.add_edge(room, other)
    return rooms


def _room_of(module: str) -> str | None:
    """Return the package below `meshwright` that a module belongs to, or None for a top-level module."""
    name = module.split(".")[1] if "." in module else ""
    return name if (SOURCE / name / "__init__.py").is_file() and name else None


def diagram() -> str:
    """Return the rooms and their imports as a Mermaid diagram, without arrows that follow from others."""
    reduced = nx.transitive_reduction(_rooms())
    lines = [f"    {room} --> {other}" for room, other in sorted(reduced.edges)]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def rooms() -> str:
    """Return what each room holds and imports, top to bottom."""
    order = list(nx.lexicographical_topological_sort(_rooms()))
    rows = [
        [
            f"`{room}`",
            _first_line(SOURCE / room / "__init__.py"),
            ", ".join(sorted(_rooms().successors(room))),
        ]
        for room in order
    ]
    return table(["room", "what it holds", "imports"], rows)


def files() -> str:
    """Return every file of the package with the first line of its docstring, by folder."""
    folders = sorted({path.parent for path in SOURCE.rglob("*.py")})
    return "\n\n".join(_folder(folder) for folder in folders)


def _folder(folder: Path) -> str:
    name = folder.relative_to(SOURCE.parent).as_posix()
    own = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    lines = [f"- `{path.name}`: {_first_line(path)}" for path in own]
    return "\n".join(
        [f"**`{name}/`** {_first_line(folder / '__init__.py')}", *([""] if lines else []), *lines]
    )


def _first_line(path: Path) -> str:
    """Return the first line of a file's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def schemas() -> str:
    """Return the JSON Schema of each file with declared contents, for docs/schemas.md."""
    declared = {
        "meshwright.toml": project_file.ProjectTables,
        "manifest.json of a dataset": datasets.DatasetHeader,
        "traffic.json of traffic": traffic.TrafficHeader,
        "federation.json of a federation": manifest.FederationHeader,
        "a record of an inventory": inventory.BrokerRecord,
        "plan.json of a plan": plans.PlanHeader,
        "workload.json of a content workload": workloads.WorkloadHeader,
        "plan.json of a content plan": content_plans.ContentPlanHeader,
    }
    texts = [json.dumps(msgspec.json.schema(record), indent=2) for record in declared.values()]
    return "\n\n".join(
        f"## {name}\n\n```json\n{text}\n```" for name, text in zip(declared, texts, strict=True)
    )


def filled(page: str, name: str, text: str) -> str:
    """Return a page with the text between `<!-- begin name -->` and `<!-- end name -->` replaced."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"no {begin} … {end} in the page")
    return f"{before}{text}{after}"


def _beside(module: str) -> dict[str, Any]:
    """Return the names of a file beside this one; the folder of docs is not a package."""
    return runpy.run_path(str(Path(__file__).with_name(f"{module}.py")))


def charts() -> str:
    """Return the gallery of charts, for docs/gallery.md."""
    return str(_beside("pictures")["gallery"]())


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "algorithms": {"designs": algorithms},
    "architecture": {"diagram": diagram, "rooms": rooms, "files": files},
    "command-line": {"commands": commands},
    "gallery": {"charts": charts},
    "python": {"names": names},
    "schemas": {"schemas": schemas},
}
"""Each page with generated parts, and what makes them."""


def built(page: str, text: str) -> str:
    """Return the text of a page as the site shows it: its generated parts filled in."""
    for name, make in PARTS.get(page, {}).items():
        text = filled(text, name, make())
    return text


def design_pages() -> dict[str, str]:
    """Return the page of each design, by its name."""
    page = _beside("design_pages")["page"]
    return {name: page(name) for name in DESIGNS}


def write_design_pages() -> None:
    """Write the page of each design into docs/designs, which is not committed, and remove others."""
    DESIGN_PAGES.mkdir(exist_ok=True)
    pages = design_pages()
    for file in DESIGN_PAGES.glob("*.md"):
        if file.stem not in pages:
            file.unlink()
    for name, text in pages.items():
        (DESIGN_PAGES / f"{name}.md").write_text(text, encoding="utf-8")
