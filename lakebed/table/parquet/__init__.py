"""Parquet's footers: Thrift's bytes, what they have to hold, and where they are in a file."""
