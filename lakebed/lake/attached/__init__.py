"""A session of Spark that is attached to a lake: what Spark's own calls answer for its names."""
