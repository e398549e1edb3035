"""Reports: tables for the terminal, charts and pages as files.

`meshwright.report(plan, path)` calls `meshwright.actions.report.report`, which writes the page of a plan.

>>> import tempfile
>>> import meshwright as mw
>>> with tempfile.TemporaryDirectory() as folder:
...     mw.report(mw.design({"a": {"x"}, "b": {"x"}}, "gm"), f"{folder}/page.html").name
'page.html'
"""

from meshwright import make_callable
from meshwright.report.charts import degree_and_support, trade_off, write_front
from meshwright.report.plan_sections import degree_chart, graph_picture, support_chart
from meshwright.report.replays import churn_chart, churn_lines, churn_table
from meshwright.report.tables import advice_lines, advice_table, comparison, proof_lines, verdict_lines

__all__ = [
    "advice_lines",
    "advice_table",
    "churn_chart",
    "churn_lines",
    "churn_table",
    "comparison",
    "degree_and_support",
    "degree_chart",
    "graph_picture",
    "proof_lines",
    "support_chart",
    "trade_off",
    "verdict_lines",
    "write_front",
]

make_callable(__name__, "meshwright.actions.report.report")
