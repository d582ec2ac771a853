"""Reads: scans, stored rows, and the row with a key."""
