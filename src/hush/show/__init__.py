"""Rows, text tables and CSV files: how results are shown without any library."""
