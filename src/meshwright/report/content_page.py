"""The report page of an assignment: one HTML file with figures, a map, and the costliest parts."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from meshwright.escape import html as escape
from meshwright.formatting import amount, excess, percentage
from meshwright.report.content import content_map, title_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content import ContentPlan

SHOWN = 10
"""Number of brokers, channels and links that are listed, the costliest first."""
UNPLACED = "Places are unknown: brokers are placed by the costs of core links, users around their brokers."
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: right; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 1px solid #999; }
img { max-width: 100%; } .lists { display: flex; flex-wrap: wrap; gap: 2.5rem; }
"""


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
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        _table(["figure", ""], _figures(plan)),
        "<h2>Map and load</h2>",
        note,
        f'<img alt="Map of users, brokers and core links; load of brokers" src="{source}">',
        "<h2>Where the cost arises</h2>",
        '<div class="lists">',
        _costliest(plan),
        "</div></body></html>",
    ]
    path.write_text("\n".join(part for part in parts if part) + "\n", encoding="utf-8")


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
        [brokers[b].as_py(), amount(float(cost.of_broker[b])), f"{int((cost.broker_of == b).sum()):,}"]
        for b in _largest(cost.of_broker)
    ]
    of_channels = [
        [channels[c].as_py(), amount(float(cost.of_channel[c])), f"{int((cost.audience[c] > 0).sum()):,}"]
        for c in _largest(cost.of_channel)
    ]
    traffic = link_traffic(cost)
    spent = traffic * workload.core
    of_links = []
    for flat in _largest(spent.reshape(-1)):
        u, v = divmod(flat, workload.num_brokers)
        if spent[u, v] > 0:
            name = f"{brokers[u].as_py()} – {brokers[v].as_py()}"
            of_links.append([name, amount(float(spent[u, v])), amount(float(traffic[u, v]))])
    return "\n".join(
        (
            _table(["broker", "cost", "users"], of_brokers),
            _table(["channel", "core cost", "brokers"], of_channels),
            _table(["core link", "cost", "traffic"], of_links),
        )
    )


def _largest(costs: NDArray[np.float64]) -> list[int]:
    """Return the positions of the largest costs, descending."""
    positions: list[int] = np.argsort(-costs, kind="stable")[:SHOWN].tolist()
    return positions


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
