"""A training, as device and server share it: its description, features, label, loss and rounds."""
