"""Draw the pictures of these pages into docs/pictures: `python docs/pictures.py [NAME …]`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import meshwright as mw
from meshwright.churn import Policy, random_churn, replay
from meshwright.content.migration import migrate
from meshwright.designs.registry import DESIGNS
from meshwright.report import (
    churn_chart,
    degree_and_support,
    degree_chart,
    graph_picture,
    support_chart,
    trade_off,
)
from meshwright.report.charts import ccdf_chart, federation_picture
from meshwright.report.content import content_chart, content_map, migration_chart
from meshwright.report.graph_data import layout
from meshwright.report.sheet import COLOURS, save, sheet

FOLDER = Path(__file__).parent / "pictures"
NEEDED: dict[str, dict[str, Any]] = {
    **{name: {"max_edges": 20} for name in ("gpa", "randoma")},
    **{name: {"max_degree": 2} for name in ("gpm", "spidercastm", "randomm")},
    "best": {"steps": 2000},
    "exact": {"time_limit": 20.0},
}
"""Parameters that the examples of the pages give."""


def sixteen() -> mw.Interest:
    """Return the brokers of the designs' pages."""
    return mw.workloads.zipf(16, 8, size=3, seed=4)


def design_picture(name: str, path: Path | None = None) -> Any:
    """Draw the links that a design chooses, with one topic in another colour; return the figure."""
    interest = sixteen()
    overlay = mw.design(interest, name, **NEEDED.get(name, {})).overlay
    angle = np.pi / 2 - 2 * np.pi * np.arange(interest.num_nodes) / interest.num_nodes
    places = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    topic = int(np.argmax(np.diff(interest.topic_ptr)))
    inside = set(interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist())
    with sheet(path, size=(3.6, 3.6)) as (figure, axes):
        for u, v in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True):
            own = u in inside and v in inside
            axes.plot(
                *places[[u, v]].T,
                color=COLOURS[2] if own else "#B0B8C1",
                linewidth=2 if own else 1.2,
                zorder=own,
            )
        colours = [COLOURS[2] if node in inside else COLOURS[0] for node in range(interest.num_nodes)]
        axes.scatter(*places.T, s=110, c=colours, edgecolors="white", zorder=3)
        axes.set_aspect("equal")
        axes.axis("off")
        links = f"{len(overlay)} links, at most {mw.measure.degrees(overlay).maximum} at a broker"
        axes.set_title(links, fontsize=10, fontweight="normal")
    return figure


def _plans() -> list[mw.Plan]:
    interest = mw.workloads.zipf(300, 60, size=8, seed=1)
    return [mw.design(interest, name, certify=name == "gm") for name in ("gm", "low", "minmax", "ring")]


def _graph() -> Any:
    overlay = _plans()[1].overlay
    return graph_picture(layout(300, overlay.u, overlay.v), overlay.u, overlay.v)


def _profile() -> Any:
    interest = mw.workloads.zipf(2000, 300, seed=1, min_size=2, max_size=60)
    panels, labels = {}, ["topics per broker", "brokers per topic"]
    counted = np.bincount(interest.node_of_slot), np.diff(interest.topic_ptr)
    for title, sizes in zip(("Interests", "Popularity"), counted, strict=True):
        values = np.unique(sizes[sizes > 0])
        shares = np.array([(sizes >= value).mean() for value in values])
        panels[title] = {"synthetic": (values, shares)}
    return ccdf_chart(panels, labels)


def _churn() -> Any:
    interest = mw.workloads.zipf(200, 40, size=5, seed=1)
    overlay, events = mw.design(interest, "low").overlay, list(random_churn(interest, 300, seed=1))
    policies = {name: Policy(name) for name in ("naive", "shadow")}
    return churn_chart(
        {name: replay(mw.LiveOverlay(overlay, policy, seed=1), events) for name, policy in policies.items()}
    )


def _federation() -> Any:
    plan = mw.design(sixteen(), "low")
    names = [str(name) for name in plan.overlay.interest.node_names.to_pylist()]
    shared = {(str(u), str(v)): 1 + (place % 4) for place, (u, v) in enumerate(plan.overlay.edges)}
    return federation_picture(names, shared)


def _content() -> Any:
    workload = mw.content.synthetic(200, 12, model="plane", seed=1)
    return content_chart([mw.content.assign(workload, name) for name in ("random", "packing", "steiner")])


def _content_map() -> Any:
    workload = mw.content.synthetic(200, 12, model="plane", seed=1)
    return content_map(mw.content.assign(workload, "steiner"))


def _migration() -> Any:
    workload = mw.content.synthetic(120, 6, seed=1)
    return migration_chart(migrate(workload, mw.content.assign(workload, "random").cost.broker_of, seed=1))


GALLERY: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "designs": (
        "Designs side by side",
        "`compare --chart`, `mw.plot(*plans)`",
        lambda: degree_and_support(_plans()),
    ),
    "trade-off": (
        "Few links or a low maximum degree",
        "`advise --chart`, `best --objective front`, `advice.plot()`",
        lambda: trade_off(others=_plans(), chosen=_plans()[1]),
    ),
    "degrees": (
        "Links per broker",
        "the report; `mw.report.degree_chart`",
        lambda: degree_chart(_plans()[1].overlay),
    ),
    "support": (
        "What each further link adds",
        "the report; `mw.report.support_chart`",
        lambda: support_chart(_plans()[1].overlay),
    ),
    "graph": ("The graph", "the report without scripts; `mw.report.graph_picture`", _graph),
    "profile": ("Interests and popularity", "`profile --chart`", _profile),
    "churn": ("Repair under churn", "`churn --out`", _churn),
    "federation": ("Bridges of real brokers", "`federation --picture`", _federation),
    "content": ("Costs of assignments", "`content compare --chart`", _content),
    "content-map": ("Users, brokers and loads", "`content assign --out`", _content_map),
    "migration": ("A migration", "`content migrate --out`", _migration),
}
"""Each chart: its title, what draws it, and an example."""


def gallery() -> str:
    """Return all charts with their titles, for docs/gallery.md."""
    return "\n\n".join(
        f"## {title}\n\nDrawn by {drawn_by}.\n\n![{title}](pictures/{name}.png)"
        for name, (title, drawn_by, _) in GALLERY.items()
    )


def draw_all(wanted: Collection[str] = ()) -> None:
    """Draw everything, or the pictures whose names begin with one of these, small enough for a page."""
    FOLDER.mkdir(exist_ok=True)
    made = {name: draw for name, (_, _, draw) in GALLERY.items()}
    concepts = runpy.run_path(str(Path(__file__).with_name("concept_pictures.py")))["CONCEPTS"]
    made |= {f"concept-{name}": draw for name, draw in concepts.items()}
    made |= {f"design-{name}": lambda name=name: design_picture(name) for name in DESIGNS}  # type: ignore[misc]
    for name, draw in made.items():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        figure, file = draw(), FOLDER / f"{name}.png"
        figure.set_dpi(80 if figure.get_figwidth() < 6 else 64)
        save(figure, file)
        Image.open(file).convert("RGB").quantize(48).save(file, optimize=True)
        print(f"drew {name}", flush=True)


if __name__ == "__main__":
    draw_all(sys.argv[1:])
