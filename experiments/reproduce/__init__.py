"""The paper's evaluation from scratch, one module for each figure or table, and what hush adds to it.

A module has a title, what it shows in the paper, `compute` (rows of numbers), `claims` (what the paper says in words,
with what was measured) and `draw`. `python -m experiments.reproduce` runs them; `catalogue` lists them.
"""
