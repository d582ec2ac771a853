"""The check of a store's records: every row decodes, and every index matches what it indexes."""
