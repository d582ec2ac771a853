"""Explicit partitions of tables: objects with values, a location and a state; docs/internals/partitions.md."""
