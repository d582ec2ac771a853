"""The local engine: tables read and written with Arrow, in this process. docs/internals/arrow.md has its promises."""

from lakebed.arrow.add_files import added_files
from lakebed.arrow.compaction import Compaction, rewritten
from lakebed.arrow.fit import held, reader_of
from lakebed.arrow.read.get import find_row
from lakebed.arrow.read.rows import table_of_rows
from lakebed.arrow.read.scan import Scan
from lakebed.arrow.rows.assignments import assignments
from lakebed.arrow.rows.delete import delete_rows, overwrite_rows
from lakebed.arrow.rows.keys import check_new_keys, share_keys
from lakebed.arrow.rows.merge import bind_merge, merge_rows
from lakebed.arrow.rows.source import keyed_rows
from lakebed.arrow.rows.update import update_rows
from lakebed.arrow.rows.upsert import upsert_rows
from lakebed.arrow.tasks import read_tasks, write_task
from lakebed.arrow.types import arrow_schema, schema_of
from lakebed.arrow.write.inline import Inlined, inline
from lakebed.arrow.write.rows import write_rows
from lakebed.arrow.write.write import write

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
