"""Wide numbers: one and two rounds on public ranges that are far wider than where people are."""
