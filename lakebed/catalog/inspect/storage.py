"""The system table of how tables are and were stored."""

from collections.abc import Iterator
from typing import cast

from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.history import states
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, batches_kept
from lakebed.catalog.tables.storage import storage_of
from lakebed.catalog.transaction.holders import unread_holder
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


def _storage_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in batches_kept(work, keep):
        pasts = states(work, [str(unread_holder(work, table.id)) for table in batch], Attribute.STORAGE)
        times = iter(work.context.metastore.times([state.version for past in pasts for state in past]))
        for table, past in zip(batch, pasts, strict=True):
            for state in past:
                record = cast(pb.TableStorage, state.record)
                storage = storage_of(record)
                yield (
                    table.name,
                    table.uuid,
                    table.namespace,
                    state is past[-1],
                    int(state.version),
                    next(times),
                    work.context.files.location(storage.location),
                    storage.source_short_name,
                    storage.file_format,
                    storage.input_format,
                    storage.output_format,
                    storage.serde,
                    storage.owner,
                    documents.PROPERTIES.to_json(dict(storage.properties)),
                    record.edition_id,
                    record.stream_id,
                    record.partition_id,
                )


STORAGE = SystemTable(
    "__storage",
    "How the active editions of tables are and were stored: one row for each change, oldest first.",
    columns(
        TABLE,
        UUID,
        NAMESPACE,
        ("is_current", "boolean", "whether the table is stored so now"),
        ("version", VERSION, "the commit that changed it"),
        ("time", "timestamptz", "the time of that commit"),
        ("location", "string", "the folder of new files"),
        ("source_short_name", "string", "Spark's data source that reads it"),
        ("file_format", "string", "the format of its files"),
        ("input_format", "string", "Hive's class that reads such files"),
        ("output_format", "string", "Hive's class that writes such files"),
        ("serde", "string", "Hive's class for their rows"),
        ("owner", "string", "who owns the table"),
        ("properties", "binary", "JSON: the storage's own properties, texts by name"),
        ("edition_id", "string", "the id of its edition"),
        ("stream_id", "string", "the id of the edition's stream"),
        ("partition_id", "string", "the id of the stream's root partition"),
    ),
    _storage_rows,
)
