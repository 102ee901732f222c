"""Everything that both sides must agree on: schema, channels, plan, report, training."""
