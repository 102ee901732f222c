"""Code that runs on a person's device. Nothing here imports server code."""
