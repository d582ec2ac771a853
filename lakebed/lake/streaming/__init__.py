"""Streams: a table's rows as a list of files that grows, and batches of a query as commits."""
