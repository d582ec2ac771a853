"""Types of columns, their names, and values as single-value bytes."""
