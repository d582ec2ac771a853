"""Typed records in a store. docs/internals/records.md says what they promise."""
