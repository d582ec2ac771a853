"""Partition specs and sort orders, their transforms, their values, their text and JSON."""
