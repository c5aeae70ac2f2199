"""The speed benchmark: what is measured, how, and the report."""
