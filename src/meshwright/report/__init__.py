"""Plans made visible: tables for the terminal and charts as files."""

from meshwright.report.charts import degree_and_support
from meshwright.report.tables import comparison

__all__ = ["comparison", "degree_and_support"]
