"""Plans made visible: tables for the terminal and charts as files."""

from meshwright.report.charts import degree_and_support
from meshwright.report.churn_chart import churn_chart
from meshwright.report.churn_table import churn_table
from meshwright.report.tables import comparison

__all__ = ["churn_chart", "churn_table", "comparison", "degree_and_support"]
