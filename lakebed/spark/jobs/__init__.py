"""Spark jobs that Lakebed starts: their thread, progress bar, Ctrl-C, and errors."""
