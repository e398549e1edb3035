"""Assignments of users: a table, a chart of their cost, and a map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from meshwright.content.assignment.registry import find
from meshwright.formatting import amount, duration, percentage
from meshwright.report.sheet import COLOURS, check_chart, sheet
from meshwright.report.tables import BEST, plain_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content import ContentPlan


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
    """Return a table with a row for each plan; the least cost is set off."""
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
    """Return an algorithm's title, with what it was told."""
    title = find(plan.algorithm).title
    if plan.parameters.get("argmax"):
        return f"{title}, heaviest"
    return title


def content_chart(plans: Sequence[ContentPlan], path: str | Path, *, title: str | None = None) -> Path:
    """Draw a bar for each plan: access and core costs on top of each other.

    Raises
    ------
    InputError
        If the name ends in no kind of chart that is known.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the place cannot be written.
    """
    path = check_chart(path)
    with sheet(path, size=(9.0, 1.6 + 0.45 * len(plans))) as (_, axes):
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
    return path


MOST_LINKS = 400
"""More links than this would only blacken the map: those with the most traffic are drawn."""


def content_map(plan: ContentPlan, path: Path) -> None:
    """Draw where users and brokers are, who is on which broker, the links' traffic and the brokers' load."""
    from matplotlib.collections import LineCollection

    from meshwright.content.assignment.cost import link_traffic

    users, brokers = _places(plan)
    cost = plan.cost
    traffic = link_traffic(cost)
    u, v = np.nonzero(traffic)
    heaviest = np.argsort(-traffic[u, v], kind="stable")[:MOST_LINKS]
    u, v = u[heaviest], v[heaviest]
    most = float(traffic.max(initial=0.0)) or 1.0
    with sheet(path, columns=2, size=(12.0, 6.2)) as (_, (plane, bars)):
        plane.grid(visible=False)
        plane.set_aspect("equal", adjustable="datalim")
        plane.set_xticks([])
        plane.set_yticks([])
        for a, b in zip(u.tolist(), v.tolist(), strict=True):
            width = 0.3 + 3.5 * traffic[a, b] / most
            ends = brokers[[a, b]]
            plane.plot(ends[:, 0], ends[:, 1], color="#666666", linewidth=width, alpha=0.35, zorder=2)
        colour = np.array(COLOURS)[cost.broker_of % len(COLOURS)]
        ways = list(np.stack((users, brokers[cost.broker_of]), axis=1))
        plane.add_collection(LineCollection(ways, colors=list(colour), linewidths=0.4, alpha=0.2, zorder=0))
        size = float(np.clip(4000 / max(len(users), 1), 1.5, 20))
        plane.scatter(users[:, 0], users[:, 1], s=size, c=list(colour), linewidths=0, alpha=0.7, zorder=1)
        capacity = plan.workload.capacity
        share = np.divide(cost.load, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
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
        order = np.argsort(-share, kind="stable")
        bars.bar(np.arange(len(share)), share[order], color=COLOURS[0], width=0.9)
        bars.axhline(1.0, color=COLOURS[2], linewidth=1.5)
        bars.set_ylabel("load over capacity")
        bars.set_xlabel("brokers, the most loaded first")
        bars.set_title("Load")


def _places(plan: ContentPlan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where to draw everybody: where no places are known, brokers by costs and users around them."""
    workload = plan.workload
    if workload.places is not None:
        return workload.places.users, workload.places.brokers
    brokers = _scaled(workload.core)
    size = float(np.ptp(brokers, axis=0).max(initial=0.0)) or 1.0
    angle = np.arange(workload.num_users) * 2.399963  # the golden angle spreads them evenly
    around = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    own = workload.access[np.arange(workload.num_users), plan.cost.broker_of]
    far = 0.08 * size * own / (float(own.max(initial=0.0)) or 1.0)
    return brokers[plan.cost.broker_of] + around * far[:, None], brokers


def _scaled(core: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points in the plane whose distances are like the costs: classical multidimensional scaling."""
    if len(core) < 3:
        return np.stack((core[0], np.zeros(len(core))), axis=1)
    squared = core**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    points: NDArray[np.float64] = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # An eigenvector's sign is arbitrary: the largest part of each is drawn to the right, or upwards.
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return points * np.where(signs == 0, 1.0, signs)
