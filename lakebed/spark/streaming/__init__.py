"""Streams over a list of files that Lakebed keeps: the list, the streaming DataFrame, and the queries that use it."""
