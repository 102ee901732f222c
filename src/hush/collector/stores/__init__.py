"""Where a collector keeps reports and tallies: SQLite or PostgreSQL."""
