"""Writes: Parquet files and inline rows, with their partitions, checks and statistics."""
