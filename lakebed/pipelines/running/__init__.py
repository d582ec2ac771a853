"""A run of a pipeline: its branch, its steps on Spark, its checks, and how it is published."""
