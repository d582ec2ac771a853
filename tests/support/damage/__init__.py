"""Damaged bytes: seeded mutations, files of all kinds to apply them to, and children that read the result."""
