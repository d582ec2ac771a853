"""Primary keys: their encoding and ranges, levels, and the choice of files to compact."""
