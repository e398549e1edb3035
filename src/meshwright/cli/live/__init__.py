"""Commands for overlays under churn."""
