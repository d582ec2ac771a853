"""Which rows of a table changed between two states: as files and positions that an engine reads."""
