"""A Delta table as a source of imports: its versions, their files, and the rows that are deleted from these."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import numpy
import pyarrow
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyroaring import FrozenBitMap64

from lakebed.catalog.data.foreign import EMPTY, ForeignFile, ForeignVersion
from lakebed.delta.schemas import fields_of, numbered
from lakebed.errors import Expired, Invalid, NotFound
from lakebed.table.filter.filter import Value
from lakebed.table.types.types import Field, Fields, quoted_name

_MAPPING: Final = "delta.columnMapping.mode"
_LAST_ID: Final = "delta.columnMapping.maxColumnId"
_CONSTRAINTS: Final = "delta.constraints."
_VECTORS: Final = "deletionVectors"
_EPOCH: Final = datetime(1970, 1, 1)

MOST_SHOWN: Final = 500
"""How many characters of an operation's parameters a message has at most."""


class DeltaSource:
    """A Delta table in a folder of this machine. Nothing is written there."""

    kind: Final = "delta"

    def __init__(self, place: str) -> None:
        self.place = place
        if not os.path.isdir(os.path.join(place, "_delta_log")):
            raise NotFound("there is no Delta table", subject=place, expected="a folder with _delta_log")
        self._newest = self._kept = self._loaded(None)

    @property
    def id(self) -> str:
        return str(self._newest.metadata().id)

    @property
    def newest(self) -> int:
        return int(self._newest.version())

    def numbers(self, after: int | None, since: int | None = None) -> Sequence[int]:
        newest, first = self.newest, (since or 0) if after is None else after + 1
        if first <= newest:
            self._opened(first)
        return range(first, newest + 1)

    def form(self, number: int) -> str:
        return ""

    def version(self, number: int, form: str | None = None) -> ForeignVersion:
        table = self._newest if number == self._newest.version() else self._opened(number)
        about = table.metadata()
        settings: Mapping[str, str] = about.configuration
        is_mapped = settings.get(_MAPPING, "none") != "none"
        last_id = int(settings.get(_LAST_ID, 0)) if is_mapped else 0
        with _explained(self.place):
            fields = fields_of(table.schema().to_json())
            files = {file.place: file for file in _files(self.place, table, fields)}
        done = self._history.get(number, {})
        return ForeignVersion(
            number,
            f"version {number}",
            _message(number, done),
            done.get("userName"),
            numbered(fields, last_id) if is_mapped else fields,
            last_id,
            tuple(quoted_name(name) for name in about.partition_columns),
            files,
            tuple(_notes(settings)),
        )

    @cached_property
    def _history(self) -> Mapping[int, Mapping[str, Any]]:
        with _explained(self.place):
            return {done["version"]: done for done in self._newest.history()}

    def _opened(self, number: int) -> DeltaTable:
        """The table at a version; the one that was opened last is kept, since it is asked for twice."""
        if number != self._kept.version():
            self._kept = self._loaded(number)
        return self._kept

    def _loaded(self, number: int | None) -> DeltaTable:
        try:
            with _explained(self.place):
                return DeltaTable(self.place, version=number)
        except (Invalid, NotFound) as error:
            if number is None:
                raise
            raise self._expired(number, error) from error

    def _expired(self, number: int, error: Invalid | NotFound) -> Expired:
        left = next((each for each in sorted(self._history) if each > number and self._is_there(each)), None)
        begin = "" if left is None else f" The oldest that is there is {left}: pass since={left} to begin with it."
        return Expired(
            "the log of the Delta table no longer has this version",
            subject=self.place,
            expected=f"version {number}",
            found=error.found or error.problem,
            advice=f"Import the newest version alone (history=False).{begin}",
        )

    def _is_there(self, number: int) -> bool:
        try:
            DeltaTable(self.place, version=number)
        except DeltaError:
            return False
        return True


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """Errors of the library as ours."""
    try:
        yield
    except TableNotFoundError as error:
        raise NotFound("there is no Delta table", subject=place, found=_first_line(error)) from error
    except (DeltaError, OSError, ValueError) as error:
        raise Invalid("the Delta table can't be read", subject=place, found=_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _files(place: str, table: DeltaTable, fields: Fields) -> Iterator[ForeignFile]:
    actions = pyarrow.table(table.get_add_actions(flatten=False)).combine_chunks()
    values, deleted = _partition_values(table, actions, fields), _deleted(place, table)
    columns = [actions[name].to_pylist() for name in ("path", "size_bytes", "num_records")]
    for number, (address, size, rows) in enumerate(zip(*columns, strict=True)):
        path = _place(place, address)
        own = {name: column[number] for name, column in values.items()}
        yield ForeignFile(path, size, rows, own, deleted.get(path, EMPTY))


def _partition_values(
    table: DeltaTable, actions: pyarrow.Table, fields: Fields
) -> Mapping[str, Sequence[Value | None]]:
    """The plain values of the columns that the table is partitioned by, by their names in files."""
    names = table.metadata().partition_columns
    own = {field.name: field for field in fields if field.name in names}
    if not own or not actions.num_rows:
        return {}
    given = actions["partition"].chunk(0)
    return {
        field.physical_name: _plain(given.field(_place_of(given.type, field)), field).to_pylist()
        for field in own.values()
    }


def _place_of(type: pyarrow.StructType, field: Field) -> int:
    place: int = max(type.get_field_index(field.name), type.get_field_index(field.physical_name))
    return place


def _plain(column: pyarrow.Array, field: Field) -> pyarrow.Array:
    """Days and microseconds are numbers in plain values."""
    if pyarrow.types.is_binary(column.type):
        advice = "Import a copy that is not partitioned by it."
        raise Invalid("the library gives other bytes for a partition of bytes", subject=field.name, advice=advice)
    if not pyarrow.types.is_temporal(column.type):
        return column
    return column.cast(pyarrow.int32() if column.type.bit_width == 32 else pyarrow.int64())


def _deleted(place: str, table: DeltaTable) -> dict[str, FrozenBitMap64]:
    """(place) -> the deleted positions of the files that have some."""
    if _VECTORS not in (table.protocol().reader_features or ()):
        return {}
    found = {}
    for batch in pyarrow.RecordBatchReader.from_stream(table.deletion_vectors()):
        for path, kept in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            mask = kept.values.to_numpy(zero_copy_only=False)
            found[_place(place, path)] = FrozenBitMap64(numpy.flatnonzero(~mask).tolist())
    return found


def _place(folder: str, path: str) -> str:
    """Where a file of the log is: its path is a URL, and relative to the table as a rule."""
    if "://" not in path:
        full = unquote(path.removeprefix("file:"))
        return os.path.normpath(os.path.join(folder, full))
    url = urlsplit(path)
    if url.scheme != "file":
        raise Invalid(
            "the Delta table has files that are not on this machine", subject=path, advice="Copy the table here."
        )
    return os.path.normpath(unquote(path.removeprefix("file://")))


def _message(number: int, done: Mapping[str, Any]) -> str:
    """What the log says of a version, as the message of a commit."""
    how = {name: text for name, text in (done.get("operationParameters") or {}).items() if text not in (None, "", "[]")}
    shown = ", ".join(f"{name} {text}" for name, text in how.items())
    operation = str(done.get("operation") or "not described")
    time = f", {_shown_time(done['timestamp'])}" if done.get("timestamp") else ""
    return f"Delta version {number}: {operation}{time}{f' ({shown[:MOST_SHOWN]})' if shown else ''}"


def _shown_time(millis: int) -> str:
    return f"{_EPOCH + timedelta(milliseconds=millis):%Y-%m-%d %H:%M:%S} UTC"


def _notes(settings: Mapping[str, str]) -> Iterator[str]:
    for name, text in sorted(settings.items()):
        if name.startswith(_CONSTRAINTS):
            yield f"not imported: the constraint {name.removeprefix(_CONSTRAINTS)} ({text})"
