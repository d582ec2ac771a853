"""Typed records in a store. docs/records.md states what they guarantee."""
