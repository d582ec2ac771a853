"""The system table of manifests: every commit's change to a table's files, in the frame of source document 003."""

import json
from collections.abc import Iterator
from typing import Any

from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, with_pasts
from lakebed.catalog.transaction.work import Work


def _manifest_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, past in with_pasts(work, keep):
        for step in past.steps:
            if keep({"table_name": table.name, "table_uuid": table.uuid, "snapshot_id": step.id}):
                framed = step.frame(work.context)
                yield (
                    table.name,
                    step.id,
                    framed.path,
                    len(framed),
                    framed.data,
                    json.dumps(framed.decoded(), default=_hex, ensure_ascii=False).encode(),
                    table.uuid,
                    table.namespace,
                    int(step.state.version),
                )


def _hex(value: Any) -> str:
    """Keys and bounds, which are bytes."""
    return bytes(value).hex()


MANIFESTS = SystemTable(
    "__manifests",
    "One row for each snapshot that a table has had on this line: its manifest, whole.",
    columns(
        TABLE,
        ("snapshot_id", "long", "the snapshot that it made"),
        ("manifest_path", "string", "the file that it is in, or the name by which `open` opens it"),
        ("manifest_length", "long", "the length of the frame"),
        ("frame", "binary", "the frame of source document 003, with all fields"),
        ("decoded", "binary", "JSON: its fields by name; bytes as hexadecimal digits"),
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit of the snapshot"),
    ),
    _manifest_rows,
)
