"""The metastore as records in a store (source document 002)."""
