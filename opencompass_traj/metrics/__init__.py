"""Metrics: one pure module per family; plain values in, a small frozen result with its counts out."""
