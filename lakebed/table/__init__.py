"""Schemas, manifests, snapshots and statistics as pure values. docs/table.md says what they promise."""
