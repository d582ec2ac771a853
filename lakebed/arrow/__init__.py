"""The local engine: tables read and written with Arrow, in this process. docs/arrow.md says what is promised."""

from lakebed.arrow.added_files import added_files
from lakebed.arrow.assignments import assignments
from lakebed.arrow.compaction import Compaction, rewritten
from lakebed.arrow.deletes import delete_rows
from lakebed.arrow.fit import held, reader_of
from lakebed.arrow.inline import Inlined, inline
from lakebed.arrow.key_rows import keyed_rows
from lakebed.arrow.keys import share_keys
from lakebed.arrow.lookup import find_row
from lakebed.arrow.merge_rows import bind_merge
from lakebed.arrow.merges import merge_rows
from lakebed.arrow.new_keys import check_new_keys
from lakebed.arrow.overwrites import overwrite_rows
from lakebed.arrow.rows import table_of_rows
from lakebed.arrow.scan import Scan
from lakebed.arrow.tasks import read_tasks, write_task
from lakebed.arrow.types import arrow_schema, schema_of
from lakebed.arrow.updates import update_rows
from lakebed.arrow.upserts import upsert_rows
from lakebed.arrow.write import write
from lakebed.arrow.write_rows import write_rows

__all__ = [
    "Compaction",
    "Inlined",
    "Scan",
    "added_files",
    "arrow_schema",
    "assignments",
    "bind_merge",
    "check_new_keys",
    "delete_rows",
    "find_row",
    "held",
    "inline",
    "keyed_rows",
    "merge_rows",
    "overwrite_rows",
    "read_tasks",
    "reader_of",
    "rewritten",
    "schema_of",
    "share_keys",
    "table_of_rows",
    "update_rows",
    "upsert_rows",
    "write",
    "write_rows",
    "write_task",
]
