"""Learning from people who never send their data."""
