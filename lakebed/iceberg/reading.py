"""Iceberg's manifests, read: the data files of a snapshot and the rows that are deleted from them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from io import BytesIO
from typing import Any, Final
from uuid import UUID

import fastavro
import pyarrow.parquet
from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.foreign import EMPTY, ForeignFile
from lakebed.errors import Expired, Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.deletion_vectors import decode_vector
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.partition.transforms import IDENTITY

DATA: Final = 0
EQUALITY: Final = 2  # 1 are deletes by positions
_DELETED: Final = 2
_DAY: Final = date(1970, 1, 1)
_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Places:
    """Where files are: a table that was moved has addresses of where it was."""

    location: str
    folder: str

    def of(self, address: str) -> str:
        """The absolute path of a file."""
        inside = address.removeprefix(f"{self.location}/")
        if inside != address:
            return os.path.normpath(os.path.join(self.folder, inside))
        path = address.removeprefix("file:")  # Iceberg's addresses are not percent-encoded
        if not path.startswith("/") or (path == address and "://" in address):
            advice = "Copy the table to this machine."
            raise Invalid("the Iceberg table has files that are not on this machine", subject=address, advice=advice)
        return os.path.normpath("/" + path.lstrip("/"))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A live file of a manifest; `sequence` orders deletes and data."""

    file: Mapping[str, Any]
    sequence: int
    spec: int

    @property
    def content(self) -> int:
        return int(self.file.get("content") or DATA)


@dataclass(slots=True)
class SnapshotFiles:
    """The files of a snapshot, and the partition specs that they were written for."""

    files: dict[str, ForeignFile] = field(default_factory=dict)
    specs: set[int] = field(default_factory=set)


def read_snapshot(
    snapshot: Mapping[str, Any], places: Places, specs: Mapping[int, PartitionSpec], newest_spec: int | None
) -> SnapshotFiles:
    """The data files of a snapshot. `newest_spec` is the spec of files that have a partition, by default the highest.

    `Invalid` for what no reader here can apply: deletes by values, and files that are not Parquet.
    """
    entries = [entry for manifest in _manifests(snapshot, places) for entry in manifest]
    deletes = [entry for entry in entries if entry.content != DATA]
    _check_deletes(deletes)
    data = [entry for entry in entries if entry.content == DATA]
    found = SnapshotFiles(specs={entry.spec for entry in data})
    newest = max(found.specs, default=0) if newest_spec is None else newest_spec
    deleted = _Deletes(deletes, places)
    for entry in data:
        file = entry.file
        _check_parquet(file)
        place = places.of(file["file_path"])
        found.files[place] = ForeignFile(
            place,
            file["file_size_in_bytes"],
            file["record_count"],
            _constants(file, specs.get(entry.spec)),
            deleted.of(place, entry.sequence),
            is_elsewhere=entry.spec != newest,
        )
    return found


def has_older_files(snapshot: Mapping[str, Any], places: Places) -> bool:
    """Whether a snapshot lists manifests of others: if it says that there were none before, these have expired."""
    if "manifest-list" not in snapshot:
        return False
    listed = _avro(places.of(snapshot["manifest-list"]))
    return any(row.get("added_snapshot_id") not in (None, snapshot["snapshot-id"]) for row in listed)


def _manifests(snapshot: Mapping[str, Any], places: Places) -> Iterator[Iterator[_Entry]]:
    if "manifest-list" not in snapshot:  # as the first version of the format may
        yield from (_entries(address, {}, places) for address in snapshot.get("manifests") or ())
        return
    for row in _avro(places.of(snapshot["manifest-list"])):
        yield _entries(row["manifest_path"], row, places)


def _entries(address: str, listed: Mapping[str, Any], places: Places) -> Iterator[_Entry]:
    inherited, spec = listed.get("sequence_number") or 0, listed.get("partition_spec_id") or 0
    for row in _avro(places.of(address)):
        if row["status"] != _DELETED:
            sequence = row.get("sequence_number")
            yield _Entry(row["data_file"], inherited if sequence is None else sequence, spec)


def _avro(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            return [dict(row) for row in fastavro.reader(BytesIO(file.read())) if isinstance(row, dict)]
    except FileNotFoundError:
        advice = "Import a snapshot that is whole."
        raise Expired("a manifest of the snapshot is gone", subject=path, advice=advice) from None
    except (ValueError, EOFError, KeyError, IndexError) as error:
        raise Invalid("a manifest can't be read", subject=path, found=str(error)) from error


def _check_deletes(deletes: Sequence[_Entry]) -> None:
    by_values = [entry for entry in deletes if entry.content == EQUALITY]
    if by_values:
        raise Invalid(
            "the table has rows that are deleted by their values, which only its own engine can apply",
            subject=str(by_values[0].file["file_path"]),
            found=f"{len(by_values):,} files of equality deletes",
            advice="Rewrite its data files there by the procedure rewrite_data_files, and import it then.",
        )


def _check_parquet(file: Mapping[str, Any]) -> None:
    if str(file["file_format"]).upper() != "PARQUET":
        raise Invalid(
            "the table has files that are not Parquet",
            subject=str(file["file_path"]),
            found=str(file["file_format"]),
            advice="Rewrite them as Parquet there, or append(…) their rows.",
        )


class _Deletes:
    """Rows that are deleted by their positions: in Parquet files of paths and positions, or in vectors."""

    def __init__(self, entries: Sequence[_Entry], places: Places) -> None:
        self._positions: dict[str, list[tuple[int, BitMap64]]] = {}
        self._vectors: dict[str, FrozenBitMap64] = {}
        for entry in entries:
            self._add(entry, places)

    def of(self, place: str, sequence: int) -> FrozenBitMap64:
        """The deleted positions of a data file; a vector has all of them."""
        if place in self._vectors:
            return self._vectors[place]
        found = [positions for later, positions in self._positions.get(place, ()) if later >= sequence]
        return FrozenBitMap64(BitMap64.union(*found)) if found else EMPTY

    def _add(self, entry: _Entry, places: Places) -> None:
        path = places.of(entry.file["file_path"])
        if str(entry.file["file_format"]).upper() == "PUFFIN":
            self._vectors[places.of(entry.file["referenced_data_file"])] = _vector(path, entry.file)
            return
        _check_parquet(entry.file)
        rows = pyarrow.parquet.read_table(path, columns=["file_path", "pos"], partitioning=None)
        for address, positions in _by_file(rows):
            self._positions.setdefault(places.of(address), []).append((entry.sequence, positions))


def _by_file(rows: pyarrow.Table) -> Iterator[tuple[str, BitMap64]]:
    grouped = rows.group_by("file_path").aggregate([("pos", "list")])
    for address, positions in zip(grouped["file_path"].to_pylist(), grouped["pos_list"], strict=True):
        yield address, BitMap64(positions.values.to_pylist())


def _vector(path: str, file: Mapping[str, Any]) -> FrozenBitMap64:
    with open(path, "rb") as puffin:
        puffin.seek(file["content_offset"])
        return decode_vector(puffin.read(file["content_size_in_bytes"]), path)


def _constants(file: Mapping[str, Any], spec: PartitionSpec | None) -> dict[str, Value | None]:
    """The values of the columns that the file's partition says, by their ids as text."""
    if spec is None:
        return {}
    values = list((file.get("partition") or {}).values())
    fields = zip(spec.fields, values, strict=False)
    return {str(field.source_id): _plain(value) for field, value in fields if field.transform == IDENTITY}


def _plain(value: Any) -> Value | None:
    """A value as fastavro answers it, as a plain value."""
    match value:
        case datetime():
            local = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return (local - _EPOCH) // _MICROSECOND
        case date():
            return (value - _DAY).days
        case time():
            return (datetime.combine(_DAY, value) - _EPOCH) // _MICROSECOND
        case UUID():
            return value.bytes
        case _:
            found: Value | None = value
            return found
