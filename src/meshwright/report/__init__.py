"""Plans made visible: tables for the terminal and charts as files."""

from meshwright.report.advice import advice_table
from meshwright.report.charts import degree_and_support
from meshwright.report.churn_chart import churn_chart
from meshwright.report.churn_table import churn_table
from meshwright.report.front import write_front
from meshwright.report.tables import comparison
from meshwright.report.trade_off import trade_off

__all__ = [
    "advice_table",
    "churn_chart",
    "churn_table",
    "comparison",
    "degree_and_support",
    "trade_off",
    "write_front",
]
