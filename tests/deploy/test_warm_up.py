"""A federation that lives compiles its kernels before messages flow."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from meshwright.jit.compiler import config

PROGRAM = """
import json
import sys
from numba.core.dispatcher import Dispatcher
import meshwright as mw
from meshwright.churn import Event
from meshwright.deploy.federation.live_plan import LivePlan
from meshwright.deploy.federation.plan import FederationPlan
from meshwright.store.trees import TREES
from meshwright.workloads import zipf
from routed_plans import named_trees

overlay = mw.design(zipf(6, 5, size=3, seed=3), "low").overlay
trees = mw.route(overlay)
table = trees.to_arrow().cast(TREES)
plan = LivePlan(FederationPlan(named_trees(trees), overlay.edges, table), policy=sys.argv[1])
taken, compile = [], Dispatcher.compile
Dispatcher.compile = lambda self, signature: taken.append(self.py_func.__name__) or compile(self, signature)
first, second, *_ = plan.live_overlay.nodes
topic = plan.live_overlay.interest().topic_names[0].as_py()
plan.apply([Event("join", "new", (topic, "other"))])
plan.apply([Event("subscribe", first, ("other",))])
plan.apply([Event("unsubscribe", "new", (topic,))])
plan.apply([Event("crash", second)])
plan.apply([Event("leave", "new")])
print(json.dumps(taken))
"""


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.parametrize("policy", ["shadow", "tidy"])
def test_no_repair_waits_for_a_compiler(policy: str) -> None:
    """Every kernel that repairs call is compiled, or loaded, when the plan is made; the events load none."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, policy],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == []
