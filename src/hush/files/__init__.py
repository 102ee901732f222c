"""Files on disk: which ones a user means, and how they are written whole or not at all."""
