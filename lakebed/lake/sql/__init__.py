"""SQL statements over the lake's names."""
