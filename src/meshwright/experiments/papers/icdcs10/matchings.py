"""icdcs10, Lemma 1: an interest on which MinMax-ODA connects maximal matchings again and again."""

from __future__ import annotations

from typing import Any

from meshwright.experiments.checks import Claims, describe_change, near, rises
from meshwright.experiments.drawing import curve, finish
from meshwright.experiments.paper import Case, Figure, grid
from meshwright.experiments.papers.icdcs10.designs import build
from meshwright.experiments.results import Results, Row


def lemma1_cell(case: Case) -> list[Row]:
    """Count the links of GM and of both variants of MinMax-ODA."""
    import meshwright as mw
    from meshwright import bounds

    n = case["n"]
    interest = mw.workloads.lemma1(n)
    literal, sensible, gm = (build(interest, name) for name in ("minmax", "ours-minmax", "gm"))
    return [
        {
            "literal": len(literal.overlay),
            "sensible": len(sensible.overlay),
            "gm": len(gm.overlay),
            "bound": bounds.prices(interest).bound,
            "paper": n * (n - 2) // 2,
        }
    ]


def draw_lemma1(results: Results, axes: list[Any]) -> None:
    """Draw the links by n."""
    for column, label in (
        ("paper", "paper: n(n − 2)/2"),
        ("literal", "MinMax-ODA, to the letter"),
        ("gm", "GM"),
    ):
        curve(axes[0], results, "n", column, label=label)
    curve(axes[0], results, "n", "sensible", label="ours: MinMax-ODA, useful links only", ours=True)
    curve(axes[0], results, "n", "bound", label="ours: certified bound", ours=True)
    finish(axes[0], "Links by nodes", "n", "links", ylim=(0, None))


def lemma1_claims(results: Results, claims: Claims) -> None:
    """Compare with Lemma 1."""
    literal = results.by("n", "literal")
    held: dict[str, float] = {}
    for row in results.rows:
        held |= near(row["literal"], row["paper"], tolerance=0.05, label=f"n = {row['n']}: links")
    claims.check(
        "matchings", "MinMax-ODA makes n(n − 2)/2 links, by n − 2 maximal matchings",
        paper=", ".join(f"{row['paper']}" for row in results.rows) + " (± 5 %)",
        ours=", ".join(f"{row['literal']}" for row in results.rows) + " to the letter, "
        + ", ".join(f"{row['sensible']}" for row in results.rows) + " with useful links only", held=held,
        reason="Ties between matchings decide how soon every topic is connected.",
    )  # fmt: skip
    held = {f"n = {row['n']}": row["gm"] == row["bound"] == row["n"] - 1 for row in results.rows}
    claims.check(
        "star", "The optimum is the star around v1, n − 1 links", paper="n − 1", held=held,
        ours=f"GM's and the certified bound in {sum(held.values())} of {len(held)} cases",
    )  # fmt: skip
    ratios = {n: [links / (n - 1) for links in values] for n, values in literal.items()}
    claims.check(
        "linear-ratio", "The ratio to the optimum grows with n", paper="n(n − 2)/2 : (n − 1)",
        ours=describe_change(ratios), held=rises(ratios),
    )  # fmt: skip


LEMMA_1 = Figure(
    "lemma1",
    "Links of MinMax-ODA on the interest of Lemma 1",
    "MinMax-ODA makes n(n − 2)/2 links where a star of n − 1 links is enough: its average degree can be Θ(n) "
    "times the optimum.",
    draw_lemma1,
    lemma1_claims,
    lemma1_cell,
    quick=grid(seeds=1, n=(6, 8, 10, 12)),
    full=grid(seeds=1, n=(6, 8, 10, 12, 14, 16, 20)),
    weight=lambda _: 0.05,
    note="To the letter, MinMax-ODA also takes links that connect nothing new while they do not raise the "
    "maximum degree. Our default leaves them out.",
)
