"""Whole tables at once: the same reports as the scalar path, word for word, at memory speed."""
