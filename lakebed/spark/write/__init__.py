"""Writes: a DataFrame into Parquet files in their final folder."""
