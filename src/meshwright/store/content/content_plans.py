"""Plans of the content-based half: an assignment as a folder, with its trees and its costs by part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from meshwright.arrow import from_numpy
from meshwright.errors import InputError, first_five
from meshwright.files.atomic import new_folder
from meshwright.files.header import CONTENT_PLAN, damaged, read_record, write_header
from meshwright.store.tables import NamedColumns, write_table

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.content import ContentPlan, Workload


class ContentPlanHeader(Struct, forbid_unknown_fields=True):
    """The contents of the `plan.json` of an assignment."""

    format: str
    schema: int
    algorithm: str
    parameters: dict[str, Any]
    workload: str
    figures: dict[str, Any]
    seed: int = 0


@dataclass(frozen=True, eq=False)
class StoredContentPlan:
    """An assignment as read from a folder: its description, and the broker of each user by name."""

    path: Path
    header: ContentPlanHeader
    users: list[str]
    brokers: list[str]

    def broker_of(self, workload: Workload) -> Ids:
        """Return the id of each user's broker in the workload of the plan.

        Raises
        ------
        InputError
            If the plan is for another workload.
        FormatError
            If the plan does not name each user once, or names an unknown broker.
        """
        if self.header.workload != workload.fingerprint:
            raise InputError(
                f"plan {self.path} was made for another workload (fingerprint "
                f"{self.header.workload[:12]}…, this one has {workload.fingerprint[:12]}…): "
                "give the workload it was made for"
            )
        known = {name: number for number, name in enumerate(workload.broker_names.to_pylist())}
        lost = [name for name in self.brokers if name not in known]
        if lost:
            raise damaged(self.path, f"it names the unknown brokers {first_five(dict.fromkeys(lost))}")
        chosen = {user: known[broker] for user, broker in zip(self.users, self.brokers, strict=True)}
        names = workload.user_names.to_pylist()
        if len(chosen) != len(self.users) or chosen.keys() != set(names):
            raise damaged(self.path, "it does not assign each user to one broker")
        return np.array([chosen[name] for name in names], dtype=np.int32)


def write_content_plan(
    plan: ContentPlan, path: str | Path, *, report: Callable[[Path], object] | None = None
) -> Path:
    """Write an assignment as a folder; `report` is called with the path of its page.

    `assignment.parquet` holds `user, broker`, `trees.parquet` the core links `channel, source, u, v` of each
    channel's trees (a null source stands for all brokers with a subscriber), `broker_tree.parquet` the single
    tree that could connect the brokers instead, and `cost_of_….parquet` the cost by part.
    """
    with new_folder(path, CONTENT_PLAN) as folder:
        for name, table in _tables(plan).items():
            write_table(table, folder / f"{name}.parquet")
        if report is not None:
            report(folder / "report.html")
        content = {
            "algorithm": plan.algorithm,
            "parameters": dict(plan.parameters),
            "seed": plan.seed,
            "workload": plan.workload.fingerprint,
            "figures": plan.figures,
        }
        write_header(folder, CONTENT_PLAN, content)
    return Path(path)


def read_content_plan(path: str | Path) -> StoredContentPlan:
    """Read the folder of an assignment.

    Raises
    ------
    InputError
        If the folder does not exist.
    FormatError
        If the folder is of another kind, has a newer schema, or is damaged.
    """
    folder = Path(path)
    header = read_record(folder, CONTENT_PLAN, ContentPlanHeader)
    table = NamedColumns.read(folder / "assignment.parquet")
    return StoredContentPlan(folder, header, table.distinct("user"), table.names("broker"))


def _tables(plan: ContentPlan) -> dict[str, pa.Table]:
    from meshwright.content.cost import core_trees, link_traffic

    workload, cost = plan.workload, plan.cost
    users, brokers, channels = workload.user_names, workload.broker_names, workload.channel_names
    trees = core_trees(cost)
    order = np.argsort(trees.tree_set, kind="stable")
    sets = np.searchsorted(trees.tree_set[order], np.arange(trees.set_of_channel.max(initial=-1) + 2))
    rows = [order[sets[one] : sets[one + 1]] for one in trees.set_of_channel.tolist()]
    flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
    of_channel = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    source = trees.source[flat]
    traffic = link_traffic(cost)
    u, v = np.nonzero(traffic)
    tree = plan.tree
    return {
        "assignment": pa.table({"user": users, "broker": brokers.take(from_numpy(cost.broker_of))}),
        "trees": pa.table(
            {
                "channel": channels.take(from_numpy(of_channel)),
                "source": brokers.take(from_numpy(source, nulls=source < 0)),
                "u": brokers.take(from_numpy(trees.u[flat])),
                "v": brokers.take(from_numpy(trees.v[flat])),
            }
        ),
        "broker_tree": pa.table(
            {
                "u": brokers.take(from_numpy(tree.u)),
                "v": brokers.take(from_numpy(tree.v)),
                "traffic": from_numpy(tree.traffic),
            }
        ),
        "cost_of_users": pa.table(
            {"user": users, "load": from_numpy(workload.load), "cost": from_numpy(cost.of_user)}
        ),
        "cost_of_brokers": pa.table(
            {
                "broker": brokers,
                "users": from_numpy(np.bincount(cost.broker_of, minlength=len(brokers))),
                "load": from_numpy(cost.load),
                "capacity": from_numpy(workload.capacity),
                "cost": from_numpy(cost.of_broker),
            }
        ),
        "cost_of_channels": pa.table(
            {
                "channel": channels,
                "subscribers": from_numpy(cost.audience.sum(axis=1)),
                "brokers": from_numpy((cost.audience > 0).sum(axis=1)),
                "rate": from_numpy(workload.demand.channel_rate),
                "cost": from_numpy(cost.of_channel),
            }
        ),
        "cost_of_links": pa.table(
            {
                "u": brokers.take(from_numpy(u)),
                "v": brokers.take(from_numpy(v)),
                "traffic": from_numpy(traffic[u, v]),
                "cost": from_numpy(traffic[u, v] * workload.core[u, v]),
            }
        ),
    }
