"""Assignments of users to brokers: a table, a chart of costs, a map, and a page; and a chart of a migration.

The page is one HTML file with figures, the map, and the costliest parts.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from meshwright.content.algorithms import find
from meshwright.content.cost import cost, link_traffic
from meshwright.formatting import amount, duration, excess, percentage
from meshwright.formatting import escape_html as escape
from meshwright.report.page import html_page, page_table, visible
from meshwright.report.sheet import COLOURS, DASHES, percent_axis, sheet, whole_numbers
from meshwright.report.tables import BEST, plain_table

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from meshwright.content import ContentPlan
    from meshwright.content.migration import Migration


MOST_LINKS = 400
"""Number of core links on the map, those with the most traffic; more would only blacken it."""
GOLDEN_ANGLE = 2.399963
"""Successive points at this angle spread evenly around a centre."""
HEADINGS = (
    "\ncost",
    "access\ncost",
    "core\ncost",
    "core as\none tree",
    "\nCRR",
    "highest\nload",
    "\ntime",
)


def content_table(plans: Sequence[ContentPlan]) -> Table:
    """Return a table with a row for each plan; the least cost is highlighted."""
    table = plain_table("\nalgorithm", HEADINGS)
    least = min((plan.cost.total for plan in plans), default=0.0)
    for plan in plans:
        best = len(plans) > 1 and plan.cost.total == least
        table.add_row(
            Text(title_of(plan)),
            Text(amount(plan.cost.total), BEST if best else ""),
            amount(plan.cost.access),
            amount(plan.cost.core),
            amount(plan.tree.core),
            "–" if plan.crr is None else f"{plan.crr:.3f}",
            percentage(plan.cost.max_load),
            duration(plan.seconds),
        )
    return table


def title_of(plan: ContentPlan) -> str:
    """Return the title of a plan's algorithm, with its variant."""
    title = find(plan.algorithm).title
    if plan.parameters.get("sum"):
        return "Clustering by sum, Alg. 2"
    return f"{title} (heaviest)" if plan.parameters.get("argmax") else title


def content_chart(
    plans: Sequence[ContentPlan], path: str | Path | None = None, *, title: str | None = None
) -> Any:
    """Draw a bar for each plan, its access cost followed by its core cost, and return the figure.

    Raises
    ------
    InputError
        If the name has no known ending.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    with sheet(path, size=(9.0, 1.6 + 0.45 * len(plans))) as (figure, axes):
        names = [title_of(plan) for plan in plans][::-1]
        access = [plan.cost.access for plan in plans][::-1]
        core = [plan.cost.core for plan in plans][::-1]
        axes.barh(names, access, color=COLOURS[0], label="access links")
        axes.barh(
            names, core, left=access, color=COLOURS[2], hatch="//", edgecolor="white", label="core links"
        )
        axes.set_xlabel("cost")
        axes.grid(axis="y", visible=False)
        axes.legend(loc="lower right", frameon=True)
        if title:
            axes.set_title(title)
    return figure


def content_map(plan: ContentPlan, path: str | Path | None = None) -> Any:
    """Draw users, their brokers and the core links' traffic on a map, and the brokers' loads next to it.

    Returns the figure.
    """
    capacity = plan.workload.capacity
    share = np.divide(plan.cost.load, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
    with sheet(path, columns=2, size=(12.0, 6.2)) as (figure, (plane, bars)):
        _draw_map(plane, plan, share)
        _draw_loads(bars, share)
    return figure


def _draw_map(plane: Any, plan: ContentPlan, share: NDArray[np.float64]) -> None:
    """Draw, from the bottom up: access links, users, core links, and brokers, larger for a higher load."""
    from matplotlib.collections import LineCollection

    users, brokers = _positions(plan)
    broker_of = plan.cost.broker_of
    plane.grid(visible=False)
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_xticks([])
    plane.set_yticks([])
    _draw_core_links(plane, plan, brokers)
    colour = np.array(COLOURS)[broker_of % len(COLOURS)]
    lines = list(np.stack((users, brokers[broker_of]), axis=1))
    plane.add_collection(LineCollection(lines, colors=list(colour), linewidths=0.4, alpha=0.2, zorder=0))
    size = float(np.clip(4000 / max(len(users), 1), 1.5, 20))
    plane.scatter(users[:, 0], users[:, 1], s=size, c=list(colour), linewidths=0, alpha=0.7, zorder=1)
    own = [COLOURS[number % len(COLOURS)] for number in range(len(brokers))]
    plane.scatter(
        brokers[:, 0],
        brokers[:, 1],
        s=30 + 120 * share,
        c=own,
        marker="s",
        edgecolors="white",
        linewidths=1.2,
        zorder=3,
    )
    plane.set_title("Users (dots), brokers (squares) and core links")


def _draw_core_links(plane: Any, plan: ContentPlan, brokers: NDArray[np.float64]) -> None:
    """Draw the core links with the most traffic, wider for more of it."""
    traffic = link_traffic(plan.cost)
    u, v = np.nonzero(traffic)
    heaviest = np.argsort(-traffic[u, v], kind="stable")[:MOST_LINKS]
    u, v = u[heaviest], v[heaviest]
    most = float(traffic.max(initial=0.0)) or 1.0
    for a, b in zip(u.tolist(), v.tolist(), strict=True):
        width = 0.3 + 3.5 * traffic[a, b] / most
        ends = brokers[[a, b]]
        plane.plot(ends[:, 0], ends[:, 1], color="#666666", linewidth=width, alpha=0.35, zorder=2)


def _draw_loads(bars: Any, share: NDArray[np.float64]) -> None:
    """Draw the load of each broker, as a fraction of its capacity."""
    order = np.argsort(-share, kind="stable")
    bars.bar(np.arange(len(share)), share[order], color=COLOURS[0], width=0.9)
    bars.axhline(1.0, color=COLOURS[2], linewidth=1.5)
    bars.set_ylabel("load, of the capacity")
    bars.set_xlabel("brokers, the most loaded first")
    whole_numbers(bars.xaxis)
    percent_axis(bars.yaxis)
    bars.set_title("Load")


def _positions(plan: ContentPlan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where to draw users and brokers.

    Without places, brokers are placed by the costs of core links, and users around their brokers.
    """
    workload = plan.workload
    if workload.places is not None:
        return workload.places.users, workload.places.brokers
    brokers = _points_from_distances(workload.core)
    size = float(np.ptp(brokers, axis=0).max(initial=0.0)) or 1.0
    angle = np.arange(workload.num_users) * GOLDEN_ANGLE
    around = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    own = workload.access[np.arange(workload.num_users), plan.cost.broker_of]
    far = 0.08 * size * own / (float(own.max(initial=0.0)) or 1.0)
    return brokers[plan.cost.broker_of] + around * far[:, None], brokers


def _points_from_distances(core: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points in the plane whose distances resemble the costs: classical multidimensional scaling."""
    if len(core) < 3:
        return np.stack((core[0], np.zeros(len(core))), axis=1)
    squared = core**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    points: NDArray[np.float64] = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # The sign of an eigenvector is arbitrary: make the largest coordinate positive, so that maps are stable.
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return points * np.where(signs == 0, 1.0, signs)


def migration_chart(run: Migration, path: str | Path | None = None, *, title: str | None = None) -> Any:
    """Draw the cost after each move, and the messages sent and delivered so far; return the figure.

    Dotted lines mark crashes. The suffix of the path selects the file type: `.png`, `.svg` or `.pdf`.

    Raises
    ------
    InputError
        If the suffix of the path is unknown.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the path cannot be written.
    """
    with sheet(path, columns=2, title=title) as (figure, (left, right)):
        _draw_cost(left, run)
        _draw_messages(right, run)
        for axes in (left, right):
            for number, (time, _) in enumerate(run.crashed):
                label = "a broker dies" if not number and axes is left else None
                axes.axvline(time, color="#555555", linestyle=":", linewidth=1.2, label=label)
            axes.set_xlabel("seconds")
            axes.set_xlim(left=0)
            axes.legend()
    return figure


def _draw_cost(axes: Any, run: Migration) -> None:
    last = run.samples[-1].time if run.samples else 0.0
    times = [0.0, *(step.time for step in run.steps), last]
    costs = [cost(run.workload, run.start).total, *(step.cost for step in run.steps)]
    axes.plot(times, [*costs, costs[-1]], drawstyle="steps-post", color=COLOURS[0], label="cost")
    let_in = np.array([(step.time, step.cost) for step in run.steps if not step.paid]).reshape(-1, 2)
    if len(let_in):
        axes.plot(*let_in.T, "o", color=COLOURS[2], markersize=3, label="admitted after a crash")
    axes.set_title("Total cost")
    axes.set_ylabel("cost")


def _draw_messages(axes: Any, run: Migration) -> None:
    times = [sample.time for sample in run.samples]
    shown = (("sent, all types", "messages", 0), ("publications delivered", "delivered", 1))
    for label, name, look in shown:
        values = [getattr(sample, name) for sample in run.samples]
        axes.plot(times, values, label=label, color=COLOURS[look], linestyle=DASHES[look])
    axes.set_title("Messages so far")
    whole_numbers(axes.yaxis)


SHOWN = 10
"""Number of brokers, channels and links that are listed, the costliest first."""
UNPLACED = "Places are unknown: brokers are placed by the costs of core links, users around their brokers."


def write_content_page(plan: ContentPlan, path: Path) -> None:
    """Write the page; the file contains everything it shows."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "map.png"
        content_map(plan, picture)
        image = base64.b64encode(picture.read_bytes()).decode()
    title = f"{title_of(plan)}: {plan.workload.num_users:,} users on {plan.workload.num_brokers:,} brokers"
    note = "" if plan.workload.places is not None else f"<p>{UNPLACED}</p>"
    source = f"data:image/png;base64,{image}"
    parts = [
        f"<h1>{escape(visible(title))}</h1>",
        page_table(["figure", ""], _figures(plan)),
        "<h2>Map and load</h2>",
        note,
        f'<div class="panels"><img class="wide" alt="Map of users, brokers and core links; load of brokers" '
        f'src="{source}"></div>',
        "<h2>Where the cost arises</h2>",
        '<div class="lists">',
        _costliest(plan),
        "</div>",
    ]
    path.write_text(html_page(title, parts), encoding="utf-8")


def _figures(plan: ContentPlan) -> list[list[str]]:
    """Return the rows of the first table: a label and a figure each."""
    figures = plan.figures
    rows = [
        ["cost", amount(figures["cost"])],
        ["of that on access links", amount(figures["access_cost"])],
        ["of that on core links", f"{amount(figures['core_cost'])} ({percentage(figures['core_share'])})"],
        ["core cost with brokers wired as one tree", amount(figures["tree_core_cost"])],
        ["highest load", percentage(figures["max_load"])],
        ["channels", f"{figures['channels']:,}"],
        ["mean subscribers per channel", f"{figures['subscribers_per_channel']:.1f}"],
        ["seed", str(plan.seed)],
    ]
    if plan.crr is not None:
        rows.insert(0, ["cost reduction ratio against random", f"{plan.crr:.3f}"])
    if plan.gap is not None:
        rows.append(["above the optimum by at most", excess(plan.gap)])
    return rows


def _costliest(plan: ContentPlan) -> str:
    """Return tables of the brokers, channels and core links that cost most."""
    workload, cost = plan.workload, plan.cost
    brokers, channels = workload.broker_names, workload.channel_names
    users = np.bincount(cost.broker_of, minlength=len(brokers))
    traffic = link_traffic(cost)
    spent = traffic * workload.core
    of_links = []
    for flat in _largest(spent.reshape(-1)):
        u, v = divmod(flat, workload.num_brokers)
        if spent[u, v] > 0:
            name = f"{visible(brokers[u].as_py())} – {visible(brokers[v].as_py())}"
            of_links.append([name, amount(float(spent[u, v])), amount(float(traffic[u, v]))])
    return "\n".join(
        (
            page_table(["broker", "cost", "users"], _rows(brokers, cost.of_broker, users)),
            page_table(
                ["channel", "core cost", "brokers"],
                _rows(channels, cost.of_channel, (cost.audience > 0).sum(axis=1)),
            ),
            page_table(["core link", "cost", "traffic"], of_links),
        )
    )


def _rows(names: pa.Array, costs: NDArray[np.float64], counts: NDArray[np.int64]) -> list[list[str]]:
    """Return the costliest parts: the name, the cost and a count of each."""
    return [
        [visible(names[part].as_py()), amount(float(costs[part])), f"{counts[part]:,}"]
        for part in _largest(costs)
    ]


def _largest(costs: NDArray[np.float64]) -> list[int]:
    """Return the positions of the largest costs, descending."""
    positions: list[int] = np.argsort(-costs, kind="stable")[:SHOWN].tolist()
    return positions
