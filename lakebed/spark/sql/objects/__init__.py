"""Statements about objects, as values and their parsing: tables, columns, views, namespaces, refs, listings."""
