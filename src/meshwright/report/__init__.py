"""Reports: tables for the terminal, charts and pages as files."""

from meshwright.report.charts import degree_and_support
from meshwright.report.churn import churn_chart, churn_lines, churn_table
from meshwright.report.tables import advice_table, comparison
from meshwright.report.trade_off_chart import trade_off, write_front

__all__ = [
    "advice_table",
    "churn_chart",
    "churn_lines",
    "churn_table",
    "comparison",
    "degree_and_support",
    "trade_off",
    "write_front",
]
