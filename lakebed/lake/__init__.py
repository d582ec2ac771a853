"""The handles that people hold: Lake, Catalog, Namespace, Table, Transaction. docs/guide/lake.md."""
