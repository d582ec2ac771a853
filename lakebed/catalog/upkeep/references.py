"""The files that a lake refers to: of rows, of vectors, of manifests and checkpoints; by any version of any line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import cast

from lakebed.catalog.data.checkpoints import open_checkpoint
from lakebed.catalog.data.deltas import entries_file, record_of, stored_manifest
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.tombstones import is_purged
from lakebed.metastore import State
from lakebed.records import records_pb2 as pb
from lakebed.store import Version
from lakebed.table.manifest.delta import DELETED
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.locations import location_from_proto
from lakebed.table.manifest.manifest_pb2 import DataFileRef, EntryLocation


class FileKind(Enum):
    """What is in a file."""

    DATA = "data file"
    VECTORS = "deletion vectors"
    MANIFEST = "manifest"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Reference:
    """A file, and the delta or checkpoint of a table that refers to it.

    `size` is what the file has to have, None if only the `least` is known. `entry` is that of a data file, or of a file
    whose vector it has.
    """

    path: str
    kind: FileKind
    table: str
    line: str
    version: Version
    least: int
    size: int | None = None
    entry: DataFileRef | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Referred:
    """What one delta or checkpoint refers to. `entries` are a delta's, `inline` those of them for inline rows."""

    table: str
    files: tuple[Reference, ...]
    entries: tuple[DataFileRef, ...] = ()

    @property
    def inline(self) -> tuple[DataFileRef, ...]:
        return tuple(filter(is_inline, self.entries))


def every_reference(context: Context) -> Iterator[Reference]:
    """All references of the lake; a damaged manifest or checkpoint is `Corrupt`."""
    for state in kept_records(context):
        yield from referred_by(context, state).files


def kept_records(context: Context) -> Iterator[State]:
    """Every delta and checkpoint of all lines whose table was not purged.

    A purged branch that others have merged keeps its rows, also those of tables that were purged since: their files
    are gone, and nobody can read them.
    """
    purged: dict[str, bool] = {}
    for _, state in context.metastore.data_records():
        table = table_of(state)
        if table not in purged:
            purged[table] = is_purged(context.metastore, table)
        if not purged[table]:
            yield state


def referred_by(context: Context, state: State) -> Referred:
    """What a delta or a checkpoint refers to; `Corrupt` if its own file is damaged or missing."""
    if isinstance(state.record, pb.TableCheckpoint):
        return Referred(state.record.table_id, tuple(_of_checkpoint(context, state)))
    entries = [file for file in stored_manifest(context, state).data_files if file.status != DELETED]
    files = (*own_files(context, state), *(one for file in entries for one in _of_entry(state, file)))
    return Referred(table_of(state), files, tuple(entries))


def own_files(context: Context, state: State) -> Iterator[Reference]:
    """The files that a delta's manifest is in, without looking into them."""
    record = record_of(state)
    if record.HasField("manifest_path"):
        yield _reference(state, record.manifest_path, FileKind.MANIFEST, record.manifest_length, record.manifest_length)
    entries = entries_file(context, state)
    if entries is not None and entries[0] != record.manifest_path:
        yield _reference(state, entries[0], FileKind.MANIFEST, entries[1])


def table_of(state: State) -> str:
    """The table of a delta or a checkpoint."""
    return cast("pb.TableHistory | pb.TableCheckpoint", state.record).table_id


def schema_id_of(state: State) -> int:
    """The table's schema after a delta, or at a checkpoint."""
    return cast("pb.TableHistory | pb.TableCheckpoint", state.record).schema_id


def _of_entry(state: State, file: DataFileRef) -> Iterator[Reference]:
    if not is_inline(file):
        yield _reference(state, file.path, FileKind.DATA, file.file_size, file.file_size, file)
    if file.HasField("dv_path"):
        yield _reference(state, file.dv_path, FileKind.VECTORS, file.dv_offset + file.dv_length, entry=file)


def _of_checkpoint(context: Context, state: State) -> Iterator[Reference]:
    record = cast(pb.TableCheckpoint, state.record)
    if record.HasField("top"):
        top = location_from_proto(EntryLocation.FromString(record.top.SerializeToString()))
        yield _reference(state, top.key, FileKind.CHECKPOINT, top.end)
    for part in open_checkpoint(context, state).parts:
        place = location_from_proto(part.entries)
        yield _reference(state, place.key, FileKind.CHECKPOINT, place.end)


def _reference(
    state: State, path: str, kind: FileKind, least: int, size: int | None = None, entry: DataFileRef | None = None
) -> Reference:
    return Reference(path, kind, table_of(state), state.line, state.version, least, size, entry)


def lake_paths(references: Iterable[Reference]) -> dict[str, Reference]:
    """One reference for each file, the first."""
    found: dict[str, Reference] = {}
    for reference in references:
        found.setdefault(reference.path, reference)
    return found
