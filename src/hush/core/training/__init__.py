"""A training as both sides see it: its description, features, label, loss and rounds."""
