"""The parts that device and server must agree on: schema, channels, plan, report, training."""
