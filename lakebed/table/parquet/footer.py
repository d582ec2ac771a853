"""The footer at the end of a Parquet file, and its checks before any other reader sees it.

    file = "PAR1" ‖ column chunks ‖ bloom filters and page indexes ‖ footer
    footer = FileMetaData in Thrift's compact protocol ‖ its length, 4 bytes little-endian ‖ "PAR1"

Arrow ends the process where a footer contradicts itself: its accessors throw C++ exceptions that Python never sees.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakebed.errors import Invalid
from lakebed.table.parquet.annotations import check_annotation
from lakebed.table.parquet.metadata import FILE
from lakebed.table.parquet.thrift import Malformed, decode

MAGIC: Final = b"PAR1"
END: Final = 8  # the footer's length, then the magic
LEAST: Final = len(MAGIC) + END

MAX_DEPTH: Final = 128
"""How many levels a schema may have: readers walk through it recursively."""

_BYTE_ARRAY: Final = 6
_FIXED: Final = 7  # FIXED_LEN_BYTE_ARRAY, of type_length bytes
_WIDTHS: Final = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # of statistics by physical type; BYTE_ARRAY has any
_TYPES, _REPETITIONS, _CODECS = range(8), range(3), range(8)
_ENCODINGS: Final = frozenset((0, 2, 3, 4, 5, 6, 7, 8, 9))
_BOUNDS: Final = ("min", "max", "min_value", "max_value")
_REQUIRED, _REPEATED = 0, 2

Skipped = frozenset[tuple[int, int]]
"""Column chunks, by the numbers of row group and column, whose statistics must not be asked for."""


_Levels = tuple[int, int]
"""The greatest repetition level and the greatest definition level of a column."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A leaf of the schema."""

    path: list[bytes]
    name: str
    type: int
    width: int  # of a value in bytes; 0 if it varies
    levels: _Levels


def footer_length(tail: bytes, size: int) -> int:
    """How many bytes the footer of a file of this size has, which ends with `tail`; `Invalid` if it has none."""
    if size < LEAST or len(tail) < END:
        raise _refused("not a Parquet file: it is too short")
    if tail[-4:] == b"PARE":
        raise _refused("its footer is encrypted")
    if tail[-4:] != MAGIC:
        raise _refused("not a whole Parquet file: it does not end with PAR1")
    length = int.from_bytes(tail[-END:-4], "little") + END
    if length > size - len(MAGIC):
        raise _refused("its footer is longer than the file")
    return length


def check_footer(footer: bytes, size: int) -> Skipped:
    """Check a whole footer of a file of this size, so that Arrow can be asked for anything in it; `Invalid` otherwise.

    Counts, types, paths, offsets and lengths agree with each other and with the schema. Returned are the chunks whose
    statistics Arrow can't read although they are right: arrow-rs cuts the bounds of long values of a fixed length.
    """
    try:
        file = decode(footer[:-END], FILE)
    except Malformed as error:
        raise _refused(f"its footer is damaged: {error}") from error
    if "encryption" in file or "signing_key" in file:
        raise _refused("encrypted columns")
    columns = _columns(file["schema"])
    if "orders" in file and len(file["orders"]) != len(columns):
        raise _refused(f"{len(file['orders'])} orders of {len(columns)} columns")
    groups = file["row_groups"]
    rows = sum(group["num_rows"] for group in groups)
    if rows != file["num_rows"]:
        raise _refused(f"{file['num_rows']} rows by its footer, {rows} by its row groups")
    end = size - len(footer)
    return frozenset(
        (number, place) for number, group in enumerate(groups) for place in _checked_group(group, columns, end)
    )


def _columns(schema: Sequence[Mapping[str, Any]]) -> list[_Column]:
    """The leaves of a schema, which lists its elements from the root on, each before its children."""
    if not schema or "type" in schema[0]:
        raise _refused("its schema has no root")
    elements = iter(schema[1:])
    columns = list(_children(elements, schema[0].get("children", 0), [], (0, 0)))
    if next(elements, None) is not None:
        raise _refused("its schema has elements outside of the root")
    return columns


def _children(
    elements: Iterator[Mapping[str, Any]], count: int, path: list[bytes], levels: _Levels
) -> Iterator[_Column]:
    if len(path) >= MAX_DEPTH:
        raise _refused(f"its schema has more than {MAX_DEPTH} levels")
    for _ in range(count):
        element = next(elements, None)
        if element is None:
            raise _refused("its schema ends too early")
        yield from _element(element, elements, [*path, element["name"]], levels)


def _element(
    element: Mapping[str, Any], elements: Iterator[Mapping[str, Any]], path: list[bytes], levels: _Levels
) -> Iterator[_Column]:
    name, children = _text(path), element.get("children", 0)
    if element.get("repetition") not in _REPETITIONS:
        raise _refused(f"the column {name} has the unknown repetition {element.get('repetition')}")
    check_annotation(name, element)
    repetition = element["repetition"]
    inner = levels[0] + (repetition == _REPEATED), levels[1] + (repetition != _REQUIRED)
    if "type" not in element:
        if children < 1:
            raise _refused(f"the column {name} has neither a type nor fields")
        yield from _children(elements, children, path, inner)
        return
    if children or element["type"] not in _TYPES:
        raise _refused(f"the column {name} has the type {element['type']} and {children} fields")
    width = _WIDTHS.get(element["type"], 0)
    if element["type"] == _FIXED and (width := element.get("length", 0)) < 1:
        raise _refused(f"the column {name} has values of {width} bytes")
    yield _Column(path, name, element["type"], width, inner)


def _checked_group(group: Mapping[str, Any], columns: Sequence[_Column], end: int) -> Iterator[int]:
    """Check a row group whose columns have to be before `end`; return the columns whose statistics can't be read."""
    if group["num_rows"] < 0:
        raise _refused(f"a row group has {group['num_rows']} rows")
    if len(group["columns"]) != len(columns):
        raise _refused(f"a row group has {len(group['columns'])} of {len(columns)} columns")
    for place, (chunk, column) in enumerate(zip(group["columns"], columns, strict=True)):
        _check_chunk(chunk, column, group["num_rows"], end)
        if column.type == _FIXED and _other_lengths(chunk["column"].get("statistics", {}), column):
            yield place


def _check_chunk(chunk: Mapping[str, Any], column: _Column, rows: int, end: int) -> None:
    if "crypto" in chunk or "encrypted_column" in chunk:
        raise _refused(f"the column {column.name} is encrypted")
    found = chunk.get("column")
    if found is None or chunk.get("file_path"):
        raise _refused(f"the column {column.name} is in another file")
    if found["path"] != column.path or found["type"] != column.type:
        raise _refused(f"the column {column.name} has another name or type in a row group")
    if found["codec"] not in _CODECS or not _ENCODINGS.issuperset(found["encodings"]):
        raise _refused(f"the column {column.name} has an unknown codec or encoding")
    values = found["num_values"]
    if values < 0 or (values != rows and not column.levels[0]):
        raise _refused(f"the column {column.name} has {values} values in {rows} rows")
    _check_places(chunk, found, column, end)
    if "statistics" in found:
        _check_statistics(found["statistics"], column, values)
    if "sizes" in found:
        _check_sizes(found["sizes"], column)


def _check_places(chunk: Mapping[str, Any], found: Mapping[str, Any], column: _Column, end: int) -> None:
    """Check that everything of a column is in the file; old writers set places that don't exist to 0."""
    start = min(found["data_offset"], found.get("dictionary_offset") or found["data_offset"])
    spans = [(start, found["compressed"], "column")] if found["num_values"] else []
    if found.get("bloom_offset"):
        spans.append((found["bloom_offset"], found.get("bloom_length", 0), "bloom filter of the column"))
    for index in ("offset_index", "column_index"):
        if chunk.get(f"{index}_offset"):
            spans.append((chunk[f"{index}_offset"], chunk.get(f"{index}_length", 0), "page index of the column"))
    for offset, length, what in spans:
        if not (offset >= len(MAGIC) and 0 <= length <= end - offset):
            raise _refused(f"the {what} {column.name} ends beyond the file")
    if found["uncompressed"] < 0:
        raise _refused(f"the column {column.name} has {found['uncompressed']} bytes")


def _check_statistics(statistics: Mapping[str, Any], column: _Column, values: int) -> None:
    for name in ("null_count", "distinct_count"):
        if not 0 <= statistics.get(name, 0) <= values:
            raise _refused(f"the column {column.name} has a {name} of {statistics[name]} in {values} values")
    for length in _other_lengths(statistics, column):
        if column.type != _FIXED or length > column.width:
            raise _refused(f"the statistics of the column {column.name} have {length} bytes")


def _check_sizes(sizes: Mapping[str, Any], column: _Column) -> None:
    """Check the histograms of levels, which may be left out, and that only byte arrays have a size of their own."""
    for name, most in zip(("repetitions", "definitions"), column.levels, strict=True):
        if len(sizes.get(name, ())) not in (0, most + 1):
            raise _refused(f"the column {column.name} has {len(sizes[name])} counts of {most + 1} levels")
    if "bytes" in sizes and column.type != _BYTE_ARRAY:
        raise _refused(f"the column {column.name} has a size of byte arrays")


def _other_lengths(statistics: Mapping[str, Any], column: _Column) -> list[int]:
    """The lengths of bounds that differ from that of the column's values."""
    if not column.width:
        return []
    lengths = [len(statistics[name]) for name in _BOUNDS if name in statistics]
    return [length for length in lengths if length != column.width]


def _text(path: list[bytes]) -> str:
    try:
        return b".".join(path).decode()
    except UnicodeDecodeError:
        raise _refused(f"the column {path[-1]!r} has a name that is not UTF-8") from None


def _refused(problem: str) -> Invalid:
    return Invalid(problem, expected="a Parquet file")
