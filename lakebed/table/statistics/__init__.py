"""Statistics of a file's columns: bounds and counts from Parquet footers, and bloom filters."""
