"""The deltas of a table's history, as the metastore keeps them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.pending_delta import head_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, NotFound
from lakebed.metastore import State
from lakebed.metastore.pages import Page, every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest import frame
from lakebed.table.manifest.delta import whole
from lakebed.table.manifest.locations import location_from_proto
from lakebed.table.manifest.manifest_pb2 import Manifest
from lakebed.table.manifest.summary import free_properties


def history(
    work: Work, object_id: str, since: Version | None = None, attribute: Attribute = Attribute.DATA
) -> list[State]:
    """The deltas of a partition, or the past of another attribute, newest first: all, or those after a version."""
    return list(every(partial(work.reader.history, object_id, attribute, since=since)))


def histories(
    work: Work, wanted: Sequence[tuple[str, Version | None]], attribute: Attribute = Attribute.DATA
) -> list[list[State]]:
    """The `history` of many objects, each since a version: one round trip, and more only for those that are long."""
    pages = work.reader.histories([(object_id, attribute, since) for object_id, since in wanted])
    return [
        [*page.items, *_rest(partial(work.reader.history, object_id, attribute, since=since), page.token)]
        for (object_id, since), page in zip(wanted, pages, strict=True)
    ]


def _rest(ask: Callable[..., Page[State]], token: str | None) -> Iterator[State]:
    while token is not None:
        page = ask(token=token)
        yield from page.items
        token = page.token


def whole_manifest(context: Context, state: State, time_ms: int = 0) -> Manifest:
    """A delta's manifest with all the values of its commit."""
    return whole(stored_manifest(context, state), head_of(record_of(state), time_ms))


def stored_manifest(context: Context, state: State) -> Manifest:
    """The manifest that a delta's record has or points to; `Corrupt` if it is not what was written."""
    manifest = _framed(context, state)
    if manifest.HasField("entries"):
        columns = context.entries.columns(location_from_proto(manifest.entries))
        manifest.data_files.extend(live.file for live in columns.files(range(columns.num_rows)))
        manifest.ClearField("entries")
    return manifest


def summary_of(context: Context, state: State) -> dict[str, str]:
    """What the caller said of the snapshot that a delta made."""
    return free_properties(_framed(context, state).properties)


def entries_file(context: Context, state: State) -> tuple[str, int] | None:
    """The path and the length of the file with a delta's entries; None if its record has them."""
    record = record_of(state)
    manifest = _framed(context, state)
    if manifest.HasField("entries"):
        # The directory, which the manifest points to, is the last entry of its object.
        directory = location_from_proto(manifest.entries)
        return directory.key, directory.end
    return (record.manifest_path, record.manifest_length) if record.HasField("manifest_path") else None


def _framed(context: Context, state: State) -> Manifest:
    """The manifest in a delta's frame; its entries may be in another object."""
    return stored_frame(context, state)[1]


def stored_frame(context: Context, state: State) -> tuple[bytes, Manifest]:
    """A delta's frame as its record or its file has it, and the manifest in it; `Corrupt` if it was changed."""
    record = record_of(state)
    path = record.manifest_path or f"the manifest of snapshot {record.snapshot_id}"
    try:
        data = context.files.read(record.manifest_path) if record.HasField("manifest_path") else record.manifest
    except NotFound as error:
        raise Corrupt("a manifest is missing", subject=path, advice="Restore the file from a copy.") from error
    return data, frame.decode_own(data, path, length=record.manifest_length, crc32c=record.manifest_crc32c)


def record_of(state: State) -> pb.TableHistory:
    return cast(pb.TableHistory, state.record)
