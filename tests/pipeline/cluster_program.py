"""The program of the cluster tests, run in a separate process: plans in parts, verifies, prints JSON.

`python cluster_program.py MASTER FOLDER`. A file `plan` or `verify` in the folder names the current stage, so
that a test can kill a worker in the middle of it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import meshwright as mw
from meshwright.greedy import rules
from meshwright.pipeline.plans.parts import divide, plan_in_parts
from meshwright.pipeline.plans.sharded_verify import verify_on_cluster
from meshwright.pipeline.session.start import session
from meshwright.workloads import unif


def main(master: str, folder: Path) -> dict[str, Any]:
    """Plan in parts, verify, and return digests of the plans."""
    conf = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    spark = session(master, conf={} if master.startswith("sc://") else conf)
    interest = unif(40_000, 300, size=12, seed=3).canonical()
    (folder / "plan").touch()
    done = plan_in_parts(interest, "gm", lambda: spark, parts=8)
    (folder / "plan").unlink()
    answers = {"gm": digest(done.plan.overlay)}
    small = unif(3000, 100, size=8, seed=4).canonical()
    for algorithm in ("minmax", "low"):
        made = plan_in_parts(small, algorithm, lambda: spark, parts=3)
        answers[algorithm] = digest(made.plan.overlay)
    mw.write_dataset(interest, folder / "data" / "dataset")
    mw.write_plan(done.plan, folder / "data" / "gm")
    (folder / "verify").touch()
    report = verify_on_cluster(spark, folder / "data" / "gm", folder / "data" / "dataset")
    (folder / "verify").unlink()
    return answers | {"verified": report.passed, "components": report.verification.components.total}


def expectation() -> dict[str, Any]:
    """Return the same answers from the engine without Spark."""
    large, small = unif(40_000, 300, size=12, seed=3).canonical(), unif(3000, 100, size=8, seed=4).canonical()
    return {
        "gm": digest(divide(large, rules.gm, parts=8)),
        "minmax": digest(divide(small, rules.minmax, parts=3)),
        "low": digest(divide(small, rules.low(3), parts=3)),
        "verified": True,
        "components": 300,
    }


def digest(overlay: mw.Overlay) -> str:
    """Return a digest of the edges in order, with their contributions."""
    columns = (overlay.u, overlay.v, overlay.contribution)
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
