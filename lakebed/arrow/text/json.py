"""Rows as lines of JSON. Each line is parsed by Python first: Arrow's parser ends the process at some that it gets.

Arrow (26) takes several objects of one line for rows, and crashes at a line that is `null`. It is given lines that are
one object each, in blocks, and reads them in the types of a table. A block that has a line that does not fit is halved
until that line is alone.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow
import pyarrow.compute as compute
import pyarrow.json

from lakebed.arrow.text.columns import any_of, in_columns, missing_values, reasons, typed_column
from lakebed.arrow.text.form import ReadRows, cut, opened_text
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.data.foreign import BadRow, TextForm
from lakebed.files import Files
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import LEVELS, too_deep
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import BINARY, Decimal, Field, List, Map, Simple, Struct, children_of

BLOCK_BYTES = 4 << 20

Line = tuple[int, bytes, dict[str, Any]]
"""A line that is an object: its number in the file from 1 on, its bytes, and its values."""


def json_rows(files: Files, path: str, form: TextForm, schema: Schema) -> Iterator[ReadRows]:
    """The rows of a file in the columns of a table; keys that a line does not have get their default, or null."""
    reader = _Reader(path, form, schema)
    for lines, bad in json_lines(files, path, form):
        found = reader.read(lines)
        yield ReadRows(found.good, (*bad, *found.bad))


def json_lines(files: Files, path: str, form: TextForm) -> Iterator[tuple[list[Line], list[BadRow]]]:
    """The lines of a file that are objects, in blocks, and those that no table can have; blank lines are neither."""
    number, left = 0, b""
    with opened_text(files, path) as source:
        while block := source.read(BLOCK_BYTES):
            *whole, left = (left + block).split(b"\n")
            yield _objects(path, number, whole, form.without)
            number += len(whole)
    if left:
        yield _objects(path, number, [left], form.without)


def _objects(
    path: str, before: int, texts: Sequence[bytes], without: Collection[str]
) -> tuple[list[Line], list[BadRow]]:
    lines, bad = list[Line](), list[BadRow]()
    for number, text in enumerate(texts, before + 1):
        if not text.strip():
            continue
        try:
            found = json.loads(text)
        except ValueError as error:
            bad.append(_bad(path, number, text, f"not JSON: {error}"))
            continue
        except RecursionError:  # of Python's parser, at about a thousand
            bad.append(_bad(path, number, text, f"nested too deeply: columns have at most {LEVELS} levels"))
            continue
        if not isinstance(found, dict):
            bad.append(_bad(path, number, text, "not an object: write one for each line, jq -c '.[]' FILE"))
        elif problem := _too_deep(text, found, without):
            bad.append(_bad(path, number, text, problem))
        else:
            lines.append((number, text, found))
    return lines, bad


def _too_deep(text: bytes, values: Mapping[str, Any], without: Collection[str]) -> str | None:
    """Why a line has more levels than columns can have; whatever looks into its values later does so by recursion."""
    if text.count(b"{") + text.count(b"[") <= LEVELS // 2:
        return None
    for key, value in values.items():
        if (found := _levels(value)) > LEVELS and folded_column(key) not in without:
            return str(too_deep(key, found))
    return None


def _levels(value: Any) -> int:
    """How deeply a value is nested, as columns are."""
    deepest, pending = 0, [(value, 0)]
    while pending:
        value, above = pending.pop()
        deepest = max(deepest, above)
        if isinstance(value, list):
            pending += [(one, above + 2) for one in value or [None]]
        elif isinstance(value, dict):
            pending += [(one, above + 1) for one in value.values()]
    return deepest


class _Reader:
    """Reads lines in the types of a table. Types that Arrow does not read from JSON are read as texts, and cast."""

    def __init__(self, path: str, form: TextForm, schema: Schema) -> None:
        self._path, self._schema, self._without = path, schema, form.without
        self._fields = {folded_column(field.name): field for field in schema.fields}
        self._texts = [field for field in schema.fields if _is_read_as_text(field)]
        self._maps = [field for field in schema.fields if isinstance(field.type, Map)]

    def read(self, lines: Sequence[Line]) -> ReadRows:
        """The rows of these lines."""
        fit, bad = list[Line](), list[BadRow]()
        for line in lines:
            problem = self._problem(line[2])
            if problem is None:
                fit.append(line)
            else:
                bad.append(_bad(self._path, line[0], line[1], problem))
        good, more = self._halved(fit)
        none = in_columns({}, self._schema, 0)
        batches = pyarrow.Table.from_batches(good, none.schema).combine_chunks().to_batches()
        return ReadRows(batches[0] if batches else none, tuple(sorted((*bad, *more), key=lambda one: one.row)))

    def _problem(self, values: Mapping[str, Any]) -> str | None:
        """Why the keys of a line are not those of the table."""
        names = [folded_column(key) for key in values]
        if len(set(names)) < len(names):
            return "two keys are the same, compared without case"
        for key, name in zip(values, names, strict=True):
            field = self._fields.get(name)
            problem = None if name in self._without else _unknown_key(values[key], key, field)
            if problem is not None:
                return problem
        return None

    def _field(self, key: str) -> Field | None:
        return self._fields.get(folded_column(key))

    def _halved(self, lines: Sequence[Line]) -> tuple[list[pyarrow.RecordBatch], list[BadRow]]:
        """The rows that can be read, and the lines that can't."""
        if not lines:
            return [], []
        try:
            return self._typed(lines, self._parsed(lines))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, UnicodeDecodeError, OverflowError) as error:
            if len(lines) == 1:
                return [], [_bad(self._path, lines[0][0], lines[0][1], str(error).splitlines()[0])]
            middle = len(lines) // 2
            first, second = self._halved(lines[:middle]), self._halved(lines[middle:])
            return [*first[0], *second[0]], [*first[1], *second[1]]

    def _parsed(self, lines: Sequence[Line]) -> pyarrow.Table:
        text = b"\n".join(line[1].rstrip(b"\r") for line in lines)
        names = dict.fromkeys(key for line in lines for key in line[2])
        types = [(name, self._type(name)) for name in names]
        return pyarrow.json.read_json(
            pyarrow.BufferReader(text),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pyarrow.schema([one for one in types if one[1] is not None]),
                unexpected_field_behavior="ignore",
            ),
        )

    def _type(self, key: str) -> pyarrow.DataType | None:
        field = self._field(key)
        if field is None or field in self._maps:
            return None
        return pyarrow.string() if field in self._texts else arrow_schema(Schema([field])).field(0).type

    def _typed(self, lines: Sequence[Line], rows: pyarrow.Table) -> tuple[list[pyarrow.RecordBatch], list[BadRow]]:
        columns: dict[str, pyarrow.Array] = {}
        wrong = list[tuple[Field, pyarrow.Array, pyarrow.Array]]()
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            field, values = self._fields[folded_column(name)], pyarrow.concat_arrays(column.chunks)
            if field in self._texts:
                texts = values
                values, mistaken = typed_column(texts, field, (), in_text=False)
                wrong += [] if mistaken is None else [(field, texts, mistaken)]
            before = columns.get(field.name)  # other lines may spell the key otherwise
            columns[field.name] = values if before is None else compute.coalesce(before, values)
        wrong += missing_values(self._schema.fields, columns, len(lines))
        columns |= {field.name: self._map(lines, field) for field in self._maps}
        whole = in_columns(columns, self._schema, len(lines))
        if not wrong:
            return [whole], []
        is_bad = any_of([mask for _, _, mask in wrong])
        places = compute.indices_nonzero(is_bad).to_pylist()
        bad = [_bad(self._path, lines[row][0], lines[row][1], reasons(wrong, row)) for row in places]
        return [whole.filter(compute.invert(is_bad))], bad

    def _map(self, lines: Sequence[Line], field: Field) -> pyarrow.Array:
        """A map, which Arrow does not read from JSON."""
        values = (_value(line[2], field.name) for line in lines)
        pairs = [None if one is None else list(one.items()) for one in values]
        return pyarrow.array(pairs, arrow_schema(Schema([field])).field(0).type)


def _unknown_key(value: Any, path: str, field: Field | None) -> str | None:
    """Why a key on any level has no field, which Arrow would leave out without a word; None if each has one."""
    if field is None:
        return f"{path}: there is no such column"
    if isinstance(field.type, Map) and not isinstance(value, dict | None):
        return f"{path}: not an object, as a map is written"
    inside: list[tuple[Any, str, Field | None]] = []
    if isinstance(field.type, Struct) and isinstance(value, dict):
        known = {one.name: one for one in field.type.fields}
        inside = [(one, f"{path}.{key}", known.get(key)) for key, one in value.items()]
    if isinstance(field.type, List) and isinstance(value, list) and isinstance(field.type.element, Struct | List):
        [element] = children_of(field.type)
        inside = [(one, f"{path}.element", element) for one in value]
    return next((problem for each in inside if (problem := _unknown_key(*each)) is not None), None)


def _value(values: Mapping[str, Any], name: str) -> Any:
    return next((value for key, value in values.items() if folded_column(key) == folded_column(name)), None)


def _is_read_as_text(field: Field) -> bool:
    """Whether a column's values are texts in JSON. Arrow would read times without a word about their zone."""
    type = field.type
    if not isinstance(type, Simple) or isinstance(type, Decimal) or type == BINARY:
        return False
    return str(type) not in ("boolean", "int", "long", "float", "double", "string")


def _bad(path: str, number: int, text: bytes, reason: str) -> BadRow:
    return BadRow(path, number, cut(reason), cut(text.decode("utf-8", "replace").rstrip("\r")))
