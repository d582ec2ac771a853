"""Reads: a plan's files as a DataFrame, without deleted rows, with defaults."""
