"""Schemas, manifests, snapshots and statistics as pure values. docs/internals/table.md says what they promise."""
