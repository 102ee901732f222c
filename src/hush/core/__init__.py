"""The parts that device and server must agree on: schema, channels, plan, report, training."""

import hush.core.calendar
import hush.core.kinds  # noqa: F401  # whoever reads a schema needs all kinds of attributes
