"""The metastore on records in a store (source document 002)."""
