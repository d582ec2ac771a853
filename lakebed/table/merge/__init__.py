"""Three-way merges of a table's files and schemas."""
