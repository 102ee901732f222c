"""What relations cost, and how well they are known: the parts of `python -m experiments.reproduce relations`."""
