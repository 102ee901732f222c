"""The grown store: several collectors in front of one PostgreSQL."""

from __future__ import annotations
