"""Names, branches, transactions and history over any metastore. docs/internals/catalog.md has its promises."""
