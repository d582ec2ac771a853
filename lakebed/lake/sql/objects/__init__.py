"""Statements about objects, run by the calls of handles: tables, views, namespaces, refs, listings."""
