"""`meshwright workload`: generates synthetic subscriptions, and the hard cases of the papers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json, Seed

if TYPE_CHECKING:
    from meshwright.interest import Interest

EXAMPLES = (
    "meshwright workload zipf --nodes 2000 --topics 500 --min-size 5 --max-size 50 --out dataset",
    "meshwright workload unif --nodes 10000 --topics 200 --size 10 --seed 7 --out dataset",
    "meshwright workload unif --nodes 100 --topics 100 --size 30 --independent --out dataset",
    "meshwright workload social --nodes 5000 --min-size 5 --max-size 200 --exponent 2 --out dataset",
    "meshwright workload hard --case cuboid --k 3 --m 4 --out dataset",
    "meshwright workload hard --case single-node --sets '1,2;2,3;3,4' --out dataset",
)

CASES = "cuboid|lemma1|set-cover|set-cover-soc|single-node"


def workload(
    popularity: Annotated[
        str,
        typer.Argument(
            metavar="zipf|expo|unif|social|hard",
            help="The distribution of popularity; social: users follow others; hard: see --case.",
        ),
    ],
    *,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", help="The number of brokers, also of lemma1.")
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option("--topics", metavar="N", help="The number of topics; social has one per broker."),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", metavar="DATASET", help="The folder or URL to write the dataset to.")
    ],
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Also write logs with the usual dirt, for ingest."),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="S", help="Topics of each broker; 10 by default.")
    ] = None,
    min_size: Annotated[
        int | None,
        typer.Option("--min-size", metavar="A", help="With --max-size: from A to B topics, by a power law."),
    ] = None,
    max_size: Annotated[int | None, typer.Option("--max-size", metavar="B", help="See --min-size.")] = None,
    exponent: Annotated[
        float | None,
        typer.Option("--exponent", metavar="E", help="Exponent of the power law of sizes; 1.5 by default."),
    ] = None,
    independent: Annotated[
        bool,
        typer.Option(
            "--independent",
            help="Each broker takes each topic or not, whatever else it takes; sizes are means.",
        ),
    ] = False,
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", metavar="A", help="Zipf's exponent: 0 is uniform, more is more unequal."),
    ] = None,
    locality: Annotated[
        float | None,
        typer.Option("--locality", metavar="P", help="social: the share of choices in the own community."),
    ] = None,
    both_ways: Annotated[
        bool, typer.Option("--both-ways", help="social: everybody follows back, as friends do.")
    ] = False,
    case: Annotated[
        str | None, typer.Option("--case", metavar=CASES, help="hard: the construction of a paper.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", metavar="K", help="cuboid: the number of slabs.")] = None,
    m: Annotated[
        int | None,
        typer.Option("--m", metavar="M", help="cuboid: layers; set-cover: copies, sets squared by default."),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(
            "--sets",
            metavar="'A,B;B,C'",
            help="The sets to cover: elements with commas, sets with semicolons.",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Generate a synthetic dataset: which broker subscribes to which topic.

    hard makes the constructions of the papers' proofs: cuboid (podc07, Lemma 6.6: GM makes too many links),
    lemma1 (icdcs10, Lemma 1: MinMax-ODA does), set-cover (podc07, Lemma 7.1: few links find small covers),
    set-cover-soc (podc07, Lemma 5.2: so does a low degree of one broker, 'hub') and single-node (podc07,
    Lemma 5.1: so does a low maximum degree, as all other brokers are copied).
    """
    from meshwright.actions.outputs import check_target
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.errors import InputError
    from meshwright.files.atomic import check_place
    from meshwright.store.datasets import write_dataset
    from meshwright.workloads import write_raw_events

    asked: dict[str, Any] = {
        **{"nodes": nodes, "topics": topics, "alpha": alpha, "size": size, "min_size": min_size},
        **{"max_size": max_size, "exponent": exponent, "independent": independent or None},
        **{"locality": locality, "both_ways": both_ways or None},
    }
    special: dict[str, Any] = {"case": case, "k": k, "m": m, "sets": sets}
    given = {name: value for name, value in (asked | special).items() if value is not None}
    check_target(out, "dataset")
    if raw is not None and raw.exists() and any(raw.iterdir()):
        raise InputError(f"--raw {raw} is not empty: name a new folder")
    if raw is not None:
        check_place(raw)
    with output.working("generating subscriptions"):
        if popularity == "hard":
            interest, made_by = _hard_case(**given)
        else:
            interest, made_by = _synthetic(popularity, seed, given)
    write_dataset(interest, out, made_by=made_by)
    if raw is not None:
        raw.mkdir(parents=True, exist_ok=True)
        write_raw_events(interest, raw, seed=seed)
    if json:
        counts = {"nodes": interest.num_nodes, "topics": interest.num_topics}
        made = {"dataset": str(out), "raw": raw and str(raw)}
        output.answer_json({**counts, "subscriptions": interest.num_subscriptions, **made})
    else:
        logs = [] if raw is None else [f"logs of them in {raw}"]
        output.answer(format_size(interest), f"written to {out}", *logs)


def _synthetic(popularity: str, seed: int, given: dict[str, Any]) -> "tuple[Interest, dict[str, Any]]":
    """Draw a workload with the given options; return it, and how it was made."""
    from meshwright.errors import InputError
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


def _hard_case(case: str | None = None, **given: Any) -> "tuple[Interest, dict[str, Any]]":
    """Build a hard case from the options that it needs; return it, and how it was made."""
    from meshwright import workloads
    from meshwright.errors import InputError

    needs = {"cuboid": ("k", "m"), "lemma1": ("nodes",)} | dict.fromkeys(CASES.split("|")[2:], ("sets",))
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
