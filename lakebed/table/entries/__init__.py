"""Files' entries, column by column: the form of large deltas and checkpoints."""
