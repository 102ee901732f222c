"""A mutation tester: `python -m tests.mutants` breaks the source in small ways and looks whether a test notices."""
