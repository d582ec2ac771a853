"""What the handle of a table does with rows: reads, appends, row changes, compaction."""
