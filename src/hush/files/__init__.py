"""Files on disk: finding the files that a user means, and writing files whole or not at all."""
