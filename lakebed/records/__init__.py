"""Typed records in a store. docs/records.md says what they promise."""
