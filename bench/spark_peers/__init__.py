"""Spark on a table of ours, on plain Parquet, Iceberg and Delta: side by side, in one session that has all of them."""

from bench.spark_peers.figures import FIGURE, PARTS

__all__ = ["FIGURE", "PARTS"]
