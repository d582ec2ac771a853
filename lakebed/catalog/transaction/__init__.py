"""Reads and changes on one line: scopes, the work of one call, its read set, commits and conflicts."""
