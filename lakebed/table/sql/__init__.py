"""SQL as trees, and Spark's rules for casts to and from text."""
