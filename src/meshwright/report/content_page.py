"""The report page of an assignment: one HTML file with figures, a map, and the costliest parts."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from meshwright.formatting import amount, excess, percentage
from meshwright.formatting.escape import html as escape
from meshwright.report.content import content_map, title_of
from meshwright.report.page import html_page, page_table, visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content import ContentPlan

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
    from meshwright.content.assignment.cost import link_traffic

    workload, cost = plan.workload, plan.cost
    brokers, channels = workload.broker_names, workload.channel_names
    of_brokers = [
        [
            visible(brokers[b].as_py()),
            amount(float(cost.of_broker[b])),
            f"{int((cost.broker_of == b).sum()):,}",
        ]
        for b in _largest(cost.of_broker)
    ]
    of_channels = [
        [
            visible(channels[c].as_py()),
            amount(float(cost.of_channel[c])),
            f"{int((cost.audience[c] > 0).sum()):,}",
        ]
        for c in _largest(cost.of_channel)
    ]
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
            page_table(["broker", "cost", "users"], of_brokers),
            page_table(["channel", "core cost", "brokers"], of_channels),
            page_table(["core link", "cost", "traffic"], of_links),
        )
    )


def _largest(costs: NDArray[np.float64]) -> list[int]:
    """Return the positions of the largest costs, descending."""
    positions: list[int] = np.argsort(-costs, kind="stable")[:SHOWN].tolist()
    return positions
