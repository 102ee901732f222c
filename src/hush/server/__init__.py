"""From reports to estimates, with the standard library only. Nothing here runs on a device."""
