"""Diff, merge, cherry-pick, revert, reset and restore."""
