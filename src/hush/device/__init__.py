"""Everything that runs on a person's device. Nothing here imports the server's side."""
