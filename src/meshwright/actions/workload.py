"""Workload: draw synthetic subscriptions, or build the hard cases of the papers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.interest import Interest

CASES = ("cuboid", "lemma1", "set-cover", "set-cover-soc", "single-node")
"""The hard cases."""


@dataclass(frozen=True)
class Shape:
    """What is drawn, by the parameters of `workloads`; None or False: not stated."""

    nodes: int | None = None
    topics: int | None = None
    alpha: float | None = None
    size: int | None = None
    min_size: int | None = None
    max_size: int | None = None
    exponent: float | None = None
    independent: bool = False
    locality: float | None = None
    both_ways: bool = False
    case: str | None = None
    """The hard case, one of `CASES`; the next three are parameters of some of them."""
    k: int | None = None
    m: int | None = None
    sets: str | None = None
    """The sets to cover: elements with commas, sets with semicolons."""

    def stated(self) -> dict[str, Any]:
        """Return the parameters that are stated."""
        given = asdict(self).items()
        return {name: value for name, value in given if value is not None and value is not False}


@dataclass(frozen=True, eq=False)
class MadeWorkload:
    """Synthetic subscriptions, the dataset, and the folder of raw logs of them."""

    interest: Interest
    dataset: str
    raw: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the size, and where the files are."""
        counts = {"nodes": self.interest.num_nodes, "topics": self.interest.num_topics}
        files = {"dataset": self.dataset, "raw": self.raw and str(self.raw)}
        return {**counts, "subscriptions": self.interest.num_subscriptions, **files}


def make_workload(
    popularity: str,
    shape: Shape,
    out: str,
    *,
    raw: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> MadeWorkload:
    """Write synthetic subscriptions as a dataset, and if asked also as raw logs with the usual dirt.

    `popularity` is `zipf`, `expo`, `unif`, `social` or `hard`.
    """
    from meshwright.files.atomic import check_place
    from meshwright.store.datasets import write_dataset
    from meshwright.workloads import write_raw_events

    check_target(out, "dataset")
    if raw is not None and raw.exists() and any(raw.iterdir()):
        raise InputError(f"--raw {raw} is not empty: name a new folder")
    if raw is not None:
        check_place(raw)
    announce_phase(progress, "generating subscriptions")
    if popularity == "hard":
        interest, made_by = _hard_case(**shape.stated())
    else:
        interest, made_by = _synthetic(popularity, seed, shape.stated())
    write_dataset(interest, out, made_by=made_by)
    if raw is not None:
        raw.mkdir(parents=True, exist_ok=True)
        write_raw_events(interest, raw, seed=seed)
    return MadeWorkload(interest, str(out), raw)


def _synthetic(popularity: str, seed: int, given: dict[str, Any]) -> tuple[Interest, dict[str, Any]]:
    """Draw a workload with the given options; return it, and how it was made."""
    from meshwright.workloads import WORKLOADS, social

    if popularity not in (*WORKLOADS, "social"):
        raise InputError(f"no workload {popularity!r}: choose one of {', '.join(WORKLOADS)}, social, hard")
    for name in ("case", "k", "m", "sets"):
        if name in given:
            raise InputError(f"--{name} applies to hard only: leave it out for {popularity}")
    if "alpha" in given and popularity not in ("zipf", "social"):
        raise InputError(f"--alpha applies to zipf and social only: leave it out for {popularity}")
    if popularity != "social" and ("both_ways" in given or "locality" in given):
        raise InputError(f"--locality and --both-ways apply to social only: leave them out for {popularity}")
    if popularity == "social" and "independent" in given:
        raise InputError("--independent applies to zipf, expo and unif only: leave it out for social")
    if "exponent" in given and "min_size" not in given and "max_size" not in given:
        raise InputError("--exponent is that of the power law of sizes: add --min-size and --max-size")
    if "nodes" not in given:
        raise InputError(f"the number of brokers is missing: give --nodes N for {popularity}")
    nodes, topics = given.pop("nodes"), given.pop("topics", None)
    if topics is None and popularity != "social":
        raise InputError(f"the number of topics is missing: give --topics N for {popularity}")
    if topics not in (None, nodes) and popularity == "social":
        raise InputError(f"--topics {topics}: in social each of the {nodes} brokers is a topic; leave it out")
    if popularity == "social":
        interest = social(nodes, seed=seed, **given)
    else:
        interest = WORKLOADS[popularity](nodes, topics, seed=seed, **given)
    counts = {"nodes": nodes, "topics": interest.num_topics}
    return interest, {"workload": popularity, **counts, "seed": seed, **given}


def _hard_case(case: str | None = None, **given: Any) -> tuple[Interest, dict[str, Any]]:
    """Build a hard case from the options that it needs; return it, and how it was made."""
    from meshwright import workloads

    needs = {"cuboid": ("k", "m"), "lemma1": ("nodes",)} | dict.fromkeys(CASES[2:], ("sets",))
    if case not in needs:
        wrong = "the case is missing" if case is None else f"no case {case!r}"
        raise InputError(f"{wrong}: give --case and one of {', '.join(needs)}")
    for name in needs[case]:
        if name not in given:
            raise InputError(f"{case} needs --{name}: see 'meshwright workload --help'")
    for name in given:
        if name not in needs[case] and (case, name) != ("set-cover", "m"):
            option = f"--{name.replace('_', '-')}"
            takes = ", ".join(f"--{need}" for need in needs[case])
            raise InputError(f"{case} takes no {option}: leave it out; it takes {takes}")
    if case == "cuboid":
        interest = workloads.cuboid(given["k"], given["m"])
    elif case == "lemma1":
        interest = workloads.lemma1(given["nodes"])
    else:
        sets = [
            {element.strip() for element in one.split(",") if element.strip()}
            for one in given["sets"].split(";")
        ]
        if case == "set-cover":
            # Lemma 7.1 takes |S|² copies, so that links among the sets no longer count.
            interest = workloads.cover_copies(sets, given.setdefault("m", len(sets) ** 2))
        else:
            interest = workloads.single_node_cover(sets)
        if case == "single-node":
            interest = workloads.single_node_copies(interest, "hub")
    return interest, {"workload": "hard", "case": case, **given}
