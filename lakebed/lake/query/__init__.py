"""SQL without Spark: queries by DuckDB over scans of the lake's tables."""
