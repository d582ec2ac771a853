"""Primary keys: encoding, ranges, levels, errors, and the choice of files to compact."""
