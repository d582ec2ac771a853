"""Partition specs and sort orders: transforms, values, text and JSON."""
