"""The local engine: tables read and written with Arrow, in this process. docs/arrow.md says what is promised."""

from lakebed.arrow.keys import share_keys
from lakebed.arrow.rows import table_of_rows
from lakebed.arrow.scan import Scan
from lakebed.arrow.types import arrow_schema, schema_of
from lakebed.arrow.write import write

__all__ = ["Scan", "arrow_schema", "schema_of", "share_keys", "table_of_rows", "write"]
