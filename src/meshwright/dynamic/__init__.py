"""Overlays that change in place: link lists, fragments and redundant links, for search and churn."""
