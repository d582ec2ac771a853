"""Hidden partitions as Spark writes them: a folder for each value, under a name from which the value comes back.

Whole numbers, dates and moments are digits; floats and decimals text behind a `v`; strings and bytes hex behind an `x`.
A name has at most 255 bytes, so longer ones are told by their SHA-256 behind an `h`, and the value is read from a row.
Null is `n`, or Spark's own word for it where the values are digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from io import SEEK_CUR, SEEK_END, RawIOBase
from typing import Any, Final

from pyarrow import PythonFile
from pyarrow.parquet import ParquetFile
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.files import FileInfo, Files
from lakebed.spark.fit import quoted
from lakebed.spark.write.transforms import Term, micros, with_terms
from lakebed.table.filter.filter import Value
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Field,
    Type,
)
from lakebed.table.types.values import unscaled

NAMED_BYTES: Final = 100
"""Of strings and bytes up to this length the name of the folder is the value."""

_NULL: Final = "n"
_NULL_NUMBER: Final = "__HIVE_DEFAULT_PARTITION__"
_DIGITS = frozenset((BOOLEAN, INT, LONG, DATE, TIMESTAMP, TIMESTAMPTZ))


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partition fields of a table's spec beside the names of the columns that Spark sets rows apart by."""

    spec: PartitionSpec
    schema: Schema
    bound: tuple[BoundField, ...]
    names: tuple[str, ...]

    def derived(self, fitted: DataFrame) -> DataFrame:
        """Rows in the form of files, with the columns that set them apart behind their own."""
        terms = [_term(one, name) for one, name in zip(self.bound, self.names, strict=True)]
        frame = with_terms(fitted, terms)
        told = {name: _told(F.col(name), one) for one, name in zip(self.bound, self.names, strict=True)}
        return frame.withColumns(told) if told else frame

    def values(self, files: Files, info: FileInfo, folders: Sequence[str]) -> tuple[Value | None, ...]:
        """The partition values of a file, by the folders that it is in; `Invalid` for one that its type can't hold."""
        return tuple(
            _value(folder.removeprefix(f"{name}="), one, files, info)
            for folder, name, one in zip(folders, self.names, self.bound, strict=True)
        )


def partitions_of(spec: PartitionSpec, schema: Schema) -> Partitions:
    """What Spark sets rows apart by for a spec. The columns have names that none of the table's has in its files."""
    bound, prefix = bound_fields(spec, schema), free_prefix(schema)
    return Partitions(spec, schema, bound, tuple(f"{prefix}{one.field.field_id}" for one in bound))


def free_prefix(schema: Schema) -> str:
    """What no column of the files has its name begin with."""
    prefix = "lakebed_"
    while any(folded_column(one.physical_name).startswith(prefix) for one in schema.fields):
        prefix += "_"
    return prefix


def column_of(path: Sequence[Field]) -> Column:
    """A column in the form of files, inside structs too."""
    return F.col(".".join(quoted(one.physical_name) for one in path))


def _term(one: BoundField, name: str) -> Term:
    return Term(name, one.field.transform, one.source.type, column_of(one.path))


def _told(column: Column, one: BoundField) -> Column:
    """A partition value as the name of a folder has it: a whole number, or text that is never null."""
    if one.type in _DIGITS or one.field.transform.name == "void":
        return _digits(column, one.source.type if one.field.transform.name == "identity" else LONG)
    if one.type in (STRING, BINARY):
        data = column.cast("binary")
        short = F.concat(F.lit("x"), F.hex(data))
        text = F.when(F.octet_length(data) <= NAMED_BYTES, short).otherwise(F.concat(F.lit("h"), F.sha2(data, 256)))
    else:
        shown = column.cast("double") if one.type == FLOAT else column  # exact, and so is what Python reads
        text = F.concat(F.lit("v"), shown.cast("string"))
    # Never null: Spark would take the text through one more projection, and then sort the rows once more.
    return F.coalesce(text, F.lit(_NULL))


def _digits(column: Column, type: Type) -> Column:
    if type == DATE:
        return F.unix_date(column)
    return micros(column, type) if type in (TIMESTAMP, TIMESTAMPTZ) else column.cast("bigint")


def _value(text: str, one: BoundField, files: Files, info: FileInfo) -> Value | None:
    if text in (_NULL, _NULL_NUMBER):
        return None
    if text.startswith("h"):
        return one.field.transform.apply(one.source.type, _first_value(files, info, one.path))
    try:
        return _READ[type(one.type) if isinstance(one.type, Decimal) else one.type](text, one.type)
    except (ValueError, OverflowError) as error:
        raise Invalid(
            "a value's partition is none that its type can hold",
            subject=one.field.name,
            expected=one.type,
            found=text,
            advice="Leave out rows whose values are at the very end of the type, or are no UTF-8.",
        ) from error


def _number(bits: int) -> Callable[[str, Type], Value]:
    def read(text: str, _: Type) -> Value:
        found = int(text)
        if not -(1 << bits - 1) <= found < 1 << bits - 1:
            raise OverflowError(text)
        return found

    return read


def _decimal(text: str, type: Any) -> Value:
    found = Number(text[1:])
    if abs(unscaled(found, type.scale)) >= 10**type.precision:
        raise OverflowError(text)
    return found


_READ: dict[Any, Callable[[str, Type], Value]] = {
    BOOLEAN: lambda text, _: text == "1",
    INT: _number(32),
    DATE: _number(32),
    LONG: _number(64),
    TIMESTAMP: _number(64),
    TIMESTAMPTZ: _number(64),
    FLOAT: lambda text, _: float(text[1:]),
    DOUBLE: lambda text, _: float(text[1:]),
    Decimal: _decimal,
    STRING: lambda text, _: bytes.fromhex(text[1:]).decode(),
    BINARY: lambda text, _: bytes.fromhex(text[1:]),
}


def _first_value(files: Files, info: FileInfo, path: Sequence[Field]) -> Any:
    """What the first row of a file has in a column."""
    with ParquetFile(PythonFile(_Stored(files, info), mode="r")) as parquet:
        name = ".".join(one.physical_name for one in path)
        row: Any = next(parquet.iter_batches(1, columns=[name])).to_pylist()[0]
    for one in path:
        row = row[one.physical_name]
    return row


class _Stored(RawIOBase):
    """A stored file as Python has files, for a reader that wants some parts of it."""

    def __init__(self, files: Files, info: FileInfo) -> None:
        self._files, self._info, self._place = files, info, 0

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._info.size - self._place)
        data = self._files.read(self._info.path, self._place, left if size < 0 else min(size, left))
        self._place += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset + {SEEK_CUR: self._place, SEEK_END: self._info.size}.get(whence, 0)
        return self._place

    def tell(self) -> int:
        return self._place

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
