"""Tables as Iceberg tables, which other engines can open. docs/guide/iceberg.md says what is translated."""

from lakebed.iceberg.export import export_table

__all__ = ["export_table"]
