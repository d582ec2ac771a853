"""Typed records in a store. docs/internals/records.md states what they guarantee."""
