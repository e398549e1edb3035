"""cbps, sections IV-C and V: users move between brokers by messages, and every message arrives once."""

from __future__ import annotations

from typing import Any

import meshwright as mw
from meshwright.experiments.cbps.cost_reduction import run
from meshwright.experiments.checks import Claims
from meshwright.experiments.paper import Case, Figure, grid
from meshwright.experiments.plots import bars
from meshwright.experiments.results import Results, Row, Spread


def migration_cell(case: Case) -> list[Row]:
    """Let brokers move users from a random assignment while publications flow, and check every delivery."""
    from meshwright.content.migration.broker_state import CrashAt, Terms
    from meshwright.content.migration.run import migrate

    workload = mw.content.synthetic(case["users"], case["brokers"], case["channels"], seed=case.seed)
    plans = {
        name: run(workload, name, seed=case.seed, steps=5000)
        for name in ("random", "packing", "steiner-literal", "steiner", "descent")
    }
    crashes = (CrashAt(1.0, 0),) if case["crash"] else ()
    terms = Terms(
        publications=case["publications"], ttl=case["ttl"], decline=case["decline"], crashes=crashes
    )
    found = migrate(workload, plans["random"].cost.broker_of, terms, seed=case.seed)
    figures = found.figures
    columns = (
        "expected", "delivered", "missing", "twice", "unexpected", "moves", "rises", "rested", "rounds",
        "accepted", "declined", "redirected", "cost", "cost_before", "messages", "crashes",
    )  # fmt: skip
    return [
        {column: figures[column] for column in columns}
        | {f"{name}_cost": plan.cost.total for name, plan in plans.items()}
    ]


def draw_migration(results: Results, axes: list[Any]) -> None:
    """Draw the cost after migration next to that of the central algorithms, as shares of random's."""
    calm = results.where(decline=0.0, crash=False)
    labels = {
        "cost_before": "before:\nrandom", "cost": "after\nmigration", "packing_cost": "packing",
        "steiner-literal_cost": "mixing,\nAlg. 3", "steiner_cost": "ours:\nmixing",
        "descent_cost": "ours:\ndescent",
    }  # fmt: skip
    bars(axes[0], {label: _share(calm, column) for column, label in labels.items()})
    axes[0].tick_params(axis="x", labelsize=8)
    axes[0].set(title="Cost after migration", ylabel="cost / random's cost")


def _share(results: Results, column: str) -> list[float]:
    return [row[column] / row["cost_before"] for row in results.rows]


def migration_claims(results: Results, claims: Claims) -> None:
    """Compare with sections IV-C and V."""
    rows, calm = results.rows, results.where(decline=0.0, crash=False)
    expected = sum(row["expected"] for row in rows)
    for name, claim, column in (
        ("loses-nothing", "Migration loses no message", "missing"),
        ("doubles-nothing", "Migration delivers no message twice", "twice"),
    ):
        claims.check(
            name, claim, paper="0", ours=f"{sum(row[column] for row in rows)} of {expected:,} deliveries",
            held={_spell(row): row[column] == 0 for row in rows},
        )  # fmt: skip
    forwarded = {_spell(row): row["redirected"] > 0 for row in rows if row["ttl"] > 0}
    unforwarded = sum(row["missing"] for row in rows if row["ttl"] == 0)
    claims.check(
        "home-forwards", "The home broker needs to forward messages for a user that has moved, "
        "during the TTL",
        paper="redirect() is used",
        ours=f"{results.where(ttl=max(results.values('ttl'))).spread('redirected')} forwarded per run; "
        f"{unforwarded} lost with a TTL of 0, where home brokers return messages to their origin",
        held=forwarded,
        reason="No message was on its way to a user that moved.",
    )  # fmt: skip
    declining = [row for row in rows if row["decline"] > 0]
    claims.check(
        "may-decline", "A user may accept or decline; who declines stays, and the others still move",
        paper="both happen",
        ours=f"{Spread.of(row['declined'] for row in declining)} declined, "
        f"{Spread.of(row['accepted'] for row in declining)} accepted per run",
        held={
            _spell(row): row["declined"] > 0 and row["accepted"] > 0 and row["cost"] < row["cost_before"]
            for row in declining
        },
    )  # fmt: skip
    claims.check(
        "every-move-pays", "A user is redirected only to a broker that reduces the cost",
        paper="no move raises the cost",
        ours=f"{sum(row['rises'] for row in rows)} of {sum(row['moves'] for row in rows)} moves did",
        held={_spell(row): row["rises"] == 0 for row in rows},
    )  # fmt: skip
    claims.check(
        "comes-to-rest", "Brokers redirect users until no move pays", paper="ends",
        ours=f"after {calm.spread('rounds')} rounds of all brokers",
        held={_spell(row): bool(row["rested"]) for row in rows},
    )  # fmt: skip
    after, literal = _share(calm, "cost"), _share(calm, "steiner-literal_cost")
    claims.check(
        "translates-mixing", "The distributed version does the work of the central mixing algorithm",
        paper="the centralized algorithm, translated",
        ours=f"{Spread.of(after)} × random's cost, Algorithm 3 {Spread.of(literal)} ×, our mixing "
        f"{Spread.of(_share(calm, 'steiner_cost'))} ×",
        held={
            _spell(row): one <= other for row, one, other in zip(calm.rows, after, literal, strict=True)
        },
    )  # fmt: skip


def _spell(row: Row) -> str:
    crash = ", a crash" if row["crash"] else ""
    return f"TTL {row['ttl']:g} s, {row['decline']:.0%} decline{crash}, seed {row['seed']}"


def _cases(users: int, brokers: int, publications: int, *, seeds: int) -> tuple[Case, ...]:
    fixed: dict[str, Any] = {"users": users, "brokers": brokers, "channels": 20, "publications": publications}
    return (
        grid(seeds=seeds, **fixed, ttl=(0.5, 0.0), decline=0.0, crash=False)
        + grid(seeds=seeds, **fixed, ttl=0.5, decline=0.3, crash=False)
        + grid(seeds=seeds, **fixed, ttl=0.5, decline=0.0, crash=True)
    )


MIGRATION = Figure(
    "sec5",
    "Users move between brokers while messages flow",
    "Brokers ask users to move to a broker that reduces the cost; users accept or decline. The home broker "
    "forwards messages during a TTL, so that nothing is lost.",
    draw_migration,
    migration_claims,
    migration_cell,
    quick=_cases(100, 5, 300, seeds=3),
    full=_cases(400, 8, 1000, seeds=3),
    weight=lambda case: 0.5 + case["users"] * case["publications"] / 1e5,
    note="The paper describes the protocol and measures nothing of it. Brokers and users are agents that "
    "know only what messages tell them; the runs start from a random assignment. In some of them a broker "
    "crashes, which is ours.",
)
