"""Imports of files, tables of other formats, and databases: what `Catalog.import_parquet` and the like do."""
