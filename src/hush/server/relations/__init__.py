"""Estimates of relations: tables, means by group, associations and ranges, from a tally and with intervals."""
