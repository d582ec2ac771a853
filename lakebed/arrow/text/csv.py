"""Rows of a CSV: read as texts, and cast to the columns of a table."""

import json
from collections.abc import Iterator, Sequence
from io import RawIOBase

import pyarrow
import pyarrow.compute as compute
import pyarrow.csv

from lakebed.arrow.text.columns import any_of, in_columns, missing_values, reasons, typed_column
from lakebed.arrow.text.form import NULLS, OpenedText, ReadRows, cut, opened_text
from lakebed.catalog.data.foreign import BadRow, TextForm
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field

BLOCK_BYTES = 8 << 20
_NOT_UTF8 = "not UTF-8: convert the file, such as by iconv -f LATIN1 -t UTF-8"
_END_BYTES = 1 << 16
_LOST = "\ufffd"
"""What Python reads in place of bytes that are not UTF-8."""


def csv_rows(files: Files, path: str, form: TextForm, schema: Schema) -> Iterator[ReadRows]:
    """The rows of a file in the columns of a table; columns that it does not have get their default, or null."""
    invalid = list[BadRow]()
    seen, answered, end = 0, 0, _End()
    try:
        for batch in _batches(csv_reader(files, path, form, invalid, end), path, invalid, end):
            read = _typed(path, batch, form, schema, _Numbers(seen, len(form.names) == 0, invalid))
            seen += batch.num_rows
            new, answered = invalid[answered:], len(invalid)
            yield ReadRows(read.good, (*read.bad, *new))
    except pyarrow.ArrowInvalid as error:
        raise unreadable(path, error) from error
    if answered < len(invalid):
        yield ReadRows(in_columns({}, schema, 0), tuple(invalid[answered:]))


def _batches(
    reader: pyarrow.RecordBatchReader, path: str, invalid: list[BadRow], end: "_End"
) -> Iterator[pyarrow.RecordBatch]:
    """The rows; the last one is invalid if it ends because the file does, inside a quote. Arrow takes it for a row."""
    last: pyarrow.RecordBatch | None = None
    rows = 0
    for batch in reader:
        if last is not None:
            yield last
        rows += batch.num_rows
        last = batch if batch.num_rows else last
    if last is not None and end.is_inside(last.column(last.num_columns - 1)[-1].as_py()):
        number = rows + len(invalid) + 1
        text = last.column(last.num_columns - 1)[-1].as_py().decode("utf-8", "replace")
        invalid.append(BadRow(path, number, "a quote that never ends: the rest of the file is one value", cut(text)))
        last = last.slice(0, last.num_rows - 1)
    if last is not None:
        yield last


class _End:
    """The last bytes of a file, as they were read."""

    def __init__(self) -> None:
        self._bytes = b""

    def add(self, data: bytes) -> None:
        self._bytes = (self._bytes + data)[-_END_BYTES:] if len(data) < _END_BYTES else data[-_END_BYTES:]

    def is_inside(self, value: bytes) -> bool:
        """Whether the last value of the last row began with a quote, and no other quote ended it."""
        end = self._bytes.rstrip(b"\r\n")
        return not end.endswith(b'"') and (b"\n" in value or end.endswith(b'"' + value))


class _Noted(RawIOBase):
    """A stream whose end is noted."""

    def __init__(self, source: OpenedText, end: _End) -> None:
        self._source, self._end = source, end

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size if size >= 0 else None)
        self._end.add(data)
        return data

    def close(self) -> None:
        self._source.close()
        super().close()


def csv_reader(files: Files, path: str, form: TextForm, invalid: list[BadRow], end: _End) -> pyarrow.RecordBatchReader:
    """The rows as bytes; those with too few or too many values are added to `invalid`."""

    def note(row: pyarrow.csv.InvalidRow) -> str:
        reason = f"{row.actual_columns} values, and there are {row.expected_columns} columns"
        invalid.append(BadRow(path, row.number or 0, reason, cut(row.text)))
        return "skip"

    types = dict.fromkeys(csv_names(files, path, form), pyarrow.binary())
    try:
        return pyarrow.csv.open_csv(
            _Noted(opened_text(files, path), end),
            read_options=_reading(form, BLOCK_BYTES),
            parse_options=_parsing(form, note),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except pyarrow.ArrowInvalid as error:
        raise unreadable(path, error) from error


def csv_names(files: Files, path: str, form: TextForm) -> list[str]:
    """The names of a file's columns: those in its first row, or those that were given."""
    if form.names:
        return list(form.names)
    try:
        names = csv_sample(files, path, form, BLOCK_BYTES).schema.names
    except UnicodeDecodeError as error:
        raise Invalid("the names of the columns can't be read", subject=path, found=_NOT_UTF8) from error
    folded = [folded_column(name) for name in names]
    twice = next((name for name in names if folded.count(folded_column(name)) > 1), None)
    if twice is not None:
        raise Invalid(f"a column comes twice: {twice!r}", subject=path, advice="Give each column a name of its own.")
    return [*names]


def csv_sample(
    files: Files, path: str, form: TextForm, size: int, types: dict[str, pyarrow.DataType] | None = None
) -> pyarrow.Table:
    """The first rows of a file, with types as Arrow infers them, or these."""
    with opened_text(files, path) as source:
        begin = source.read(size)
    if len(begin) == size:  # without the row that is cut
        begin = begin[: begin.rfind(b"\n") + 1] or begin
    try:
        return pyarrow.csv.read_csv(
            pyarrow.BufferReader(begin),
            read_options=_reading(form, len(begin) + 1),
            parse_options=_parsing(form, lambda row: "skip"),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types or {}, null_values=form.nulls, timestamp_parsers=[pyarrow.csv.ISO8601]
            ),
        )
    except pyarrow.ArrowInvalid as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: Exception) -> Invalid:
    """The error for a file that is not CSV at all."""
    found = str(error).splitlines()[0]
    advice = "The first line has the names of the columns." if "Empty CSV" in found else "Check the file."
    return Invalid("the file can't be read as CSV", subject=path, found=found, advice=advice)


class _Numbers:
    """The numbers in a file of rows that could be read, in a batch after `seen` others; invalid rows count too."""

    def __init__(self, seen: int, has_header: bool, invalid: Sequence[BadRow]) -> None:
        self._first, self._invalid = seen + 1 + has_header, invalid

    def of(self, row: int) -> int:
        number = self._first + row
        for one in self._invalid:
            number += one.row <= number
        return number


def _typed(path: str, batch: pyarrow.RecordBatch, form: TextForm, schema: Schema, numbers: _Numbers) -> ReadRows:
    places = {folded_column(name): place for place, name in enumerate(batch.schema.names)}
    nulls, in_text = (NULLS, False) if form.nulls is None else (form.nulls, True)
    columns: dict[str, pyarrow.Array] = {}
    wrong = list[tuple[Field, pyarrow.Array, pyarrow.Array]]()
    for field in schema.fields:
        if (place := places.get(folded_column(field.name))) is None:
            continue
        texts, not_text = _texts(batch.column(place))
        columns[field.name], mistaken = typed_column(texts, field, nulls, in_text=in_text)
        wrong += [(field, texts, mask) for mask in (not_text, mistaken) if mask is not None]
    wrong += missing_values(schema.fields, columns, batch.num_rows)
    whole = in_columns(columns, schema, batch.num_rows)
    if not wrong:
        return ReadRows(whole)
    is_bad = any_of([mask for _, _, mask in wrong])
    bad = [
        BadRow(path, numbers.of(row), reasons(wrong, row), _text(batch, row))
        for row in compute.indices_nonzero(is_bad).to_pylist()
    ]
    return ReadRows(whole.filter(compute.invert(is_bad)), tuple(bad))


def _texts(values: pyarrow.Array) -> tuple[pyarrow.Array, pyarrow.Array | None]:
    """Bytes as text, and which of them are not UTF-8; None if all are."""
    try:
        return values.cast(pyarrow.string()), None
    except pyarrow.ArrowInvalid:
        texts = [one.decode("utf-8", "replace") for one in values.to_pylist()]
        wrong = [_LOST in text for text in texts]
        return pyarrow.array(texts, pyarrow.string()), pyarrow.array(wrong, pyarrow.bool_())


def _text(batch: pyarrow.RecordBatch, row: int) -> str:
    """A row with a value that can't be read, as JSON of its texts by column."""
    values = zip(batch.schema.names, (column[row].as_py() for column in batch.columns), strict=True)
    return cut(json.dumps({name: one.decode("utf-8", "replace") for name, one in values}, ensure_ascii=False))


def _reading(form: TextForm, block_bytes: int) -> pyarrow.csv.ReadOptions:
    # In one thread rows are numbered, and a handler of invalid rows is not called by several at once.
    names = list(form.names) or None
    return pyarrow.csv.ReadOptions(use_threads=False, block_size=block_bytes, column_names=names)


def _parsing(form: TextForm, note: object) -> pyarrow.csv.ParseOptions:
    return pyarrow.csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True, invalid_row_handler=note)
