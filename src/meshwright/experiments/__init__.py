'''Experiments: the evaluations of the papers, run again and compared with what the papers state.

`meshwright reproduce` and `reproduce` below run them. A paper is a file in `papers`, or a few with its name
in front. To add one, write `papers/KEY.py` and list it in `paper.KEYS`. It has four parts:

1. **Cells.** A function computes one cell, which is one case of a figure with one seed, and returns flat
   rows: dictionaries of numbers, strings, booleans and None. The parameters of the case and its seed become
   columns of their own, so a row holds only what was measured. A cell depends on nothing but its `Case`.
2. **Drawing.** A function draws the `Results` of all cells on axes. It sees only the Parquet table.
3. **Claims.** A function turns the same `Results` into `Check`s, by `Claims`: one check per claim.
4. **FIGURES.** Each `Figure` binds these together with its parameters as data: `quick` and `full`, made by
   `grid`. A figure without cells of its own draws the table of another: `table="fig2"`.

```python
def degree_cell(case: Case) -> list[Row]:
    """Measure one design of one workload."""
    interest = mw.workloads.zipf(case["nodes"], 100, size=10, seed=case.seed)
    plan = mw.design(interest, case["design"])
    return [{"average_degree": plan.figures["average_degree"]}]


def draw_degrees(results: Results, axes: list[Any]) -> None:
    """Draw one curve per design."""
    for design in results.values("design"):
        curve(axes[0], results.where(design=design), "nodes", "average_degree", label=design)


def degree_claims(results: Results, claims: Claims) -> None:
    """Compare with Figure 2."""
    gm = results.where(design="gm")
    claims.check(
        "falls-with-nodes",
        "The average degree falls as nodes are added",
        paper="falls",
        ours=describe_change(gm.by("nodes", "average_degree")),
        held=falls(gm.by("nodes", "average_degree")),
        reason="Beyond 4,000 nodes it stays at 2, the least that a connected overlay has.",
    )


FIGURES = (
    Figure(
        "fig2", "Average degree by nodes", "The average degree falls with the number of nodes.",
        quick=grid(seeds=3, design=("gm", "ring"), nodes=(200, 400)),
        full=grid(seeds=5, design=("gm", "ring"), nodes=(1000, 2000, 4000)),
        cell=degree_cell, draw=draw_degrees, claims=degree_claims,
    ),
)
PAPER = Paper("podc07", "Constructing Scalable Overlays …", "Chockler, … (PODC 2007)", FIGURES)
```

Rules for authors:

- Seeds: `case.seed` is 1, 2, 3 …; derive every random choice from it. Compare designs on the same seed.
- A claim gets one check, also if it does not hold. `held` names each comparison and whether it holds. The
  verdict is `holds` if all do, `partly` if at least half do, `no` otherwise. `reason` is printed unless it
  holds, after the comparisons that fail. A number is compared by `near`, `at_most` or `at_least`, which count
  half if it is close.
- A paper that needs more than 400 lines has more files, such as `KEY_lemmas.py`; `KEY.py` has the `PAPER`.
- Raise a figure's `version` when its cells compute something else: old results are then computed again.
- Our own designs and bounds go into the same figure, in cells of their own, drawn with `ours=True`.
- Reach our rooms through `import meshwright as mw`, which loads them when they are used. Import scipy and
  pyarrow and the like inside functions: `meshwright reproduce list` loads these files.
- A cell that needs a real graph names it in `Figure.graphs` and calls `case.graph(name)`: an `Interest`, or
  None without `--graph`.
'''

from meshwright.experiments.checks import Check
from meshwright.experiments.reproduction import Reproduction, reproduce

__all__ = ["Check", "Reproduction", "reproduce"]
