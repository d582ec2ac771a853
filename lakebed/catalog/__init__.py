"""What people call the catalog: names, branches, transactions, history, over any metastore. docs/catalog.md."""
