"""Tables as Iceberg tables, which other engines can open. docs/iceberg.md says what is translated, and what is not."""

from lakebed.iceberg.export import export_table

__all__ = ["export_table"]
