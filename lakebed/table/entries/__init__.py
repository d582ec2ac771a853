"""Files' entries column by column: the form of large deltas, checkpoints and row groups' statistics."""
