"""From reports to estimates. The standard library is enough, and nothing here runs on a device."""
