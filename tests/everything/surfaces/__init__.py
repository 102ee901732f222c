"""Every surface of hush, tried with made-up plans: commands, Python, clients, the collector, its pages."""
