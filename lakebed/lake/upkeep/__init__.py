"""Looking after a lake: what its handle calls for a check, a backup, and the use of its files."""
