"""A table's data: deltas, live files, checkpoints, plans, file and row changes, compaction."""
