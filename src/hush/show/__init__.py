"""Results as rows, text tables and CSV files, without any library."""
