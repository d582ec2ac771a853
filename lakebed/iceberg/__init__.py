"""Tables as Iceberg's: what other engines open. docs/guide/iceberg.md says what is translated, and what is not yet."""

from lakebed.iceberg.export import export_table

__all__ = ["export_table"]
