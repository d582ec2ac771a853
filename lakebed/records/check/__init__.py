"""The check of a store's records: every row decodes, and every index agrees with what it indexes."""
