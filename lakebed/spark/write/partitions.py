"""Hidden partitions as Spark writes them: a folder for each value, with a name that the value can be read from.

Whole numbers, dates and times are digits; floats and decimals are text behind a `v`; strings and bytes are hex behind
an `x`. A name has at most 255 bytes, so a longer value is named by its SHA-256 behind an `h`, and read from a row. Null
is `n`, or Spark's own word for it where the values are digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from io import SEEK_CUR, SEEK_END, RawIOBase
from typing import Any, Final

from pyarrow import ArrowException, PythonFile
from pyarrow.parquet import ParquetFile
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.errors import Corrupt, Invalid
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
"""Strings and bytes up to this length are the name of the folder."""

_NULL: Final = "n"
_NULL_NUMBER: Final = "__HIVE_DEFAULT_PARTITION__"
_DIGITS = frozenset((BOOLEAN, INT, LONG, DATE, TIMESTAMP, TIMESTAMPTZ))


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partition fields of a table's spec, and the names of the columns that Spark separates rows by."""

    spec: PartitionSpec
    schema: Schema
    bound: tuple[BoundField, ...]
    names: tuple[str, ...]

    def with_columns(self, fitted: DataFrame) -> DataFrame:
        """Rows in the form of files, followed by the columns that separate them."""
        terms = [_term(field, name) for field, name in zip(self.bound, self.names, strict=True)]
        frame = with_terms(fitted, terms)
        folders = {name: _folder_value(F.col(name), field) for field, name in zip(self.bound, self.names, strict=True)}
        return frame.withColumns(folders) if folders else frame

    def values(self, files: Files, info: FileInfo, folders: Sequence[str]) -> tuple[Value | None, ...]:
        """The partition values of a file, from its folders; `Invalid` for a value that its type can't hold."""
        return tuple(
            _value(folder.removeprefix(f"{name}="), field, files, info)
            for folder, name, field in zip(folders, self.names, self.bound, strict=True)
        )


def partitions_of(spec: PartitionSpec, schema: Schema) -> Partitions:
    """The partitions of a spec, with column names that the table's files don't have."""
    bound, prefix = bound_fields(spec, schema), free_prefix(schema)
    return Partitions(spec, schema, bound, tuple(f"{prefix}{each.field.field_id}" for each in bound))


def free_prefix(schema: Schema) -> str:
    """A prefix that no column name of the files begins with."""
    prefix = "lakebed_"
    while any(folded_column(field.physical_name).startswith(prefix) for field in schema.fields):
        prefix += "_"
    return prefix


def column_of(path: Sequence[Field]) -> Column:
    """A column in the form of files, also inside structs."""
    return F.col(".".join(quoted(field.physical_name) for field in path))


def _term(bound: BoundField, name: str) -> Term:
    return Term(name, bound.field.transform, bound.source.type, column_of(bound.path))


def _folder_value(column: Column, bound: BoundField) -> Column:
    """A partition value as in the name of a folder: a whole number, or text that is never null."""
    if bound.type in _DIGITS or bound.field.transform.name == "void":
        return _digits(column, bound.source.type if bound.field.transform.name == "identity" else LONG)
    if bound.type in (STRING, BINARY):
        data = column.cast("binary")
        short = F.concat(F.lit("x"), F.hex(data))
        text = F.when(F.octet_length(data) <= NAMED_BYTES, short).otherwise(F.concat(F.lit("h"), F.sha2(data, 256)))
    else:
        number = column.cast("double") if bound.type == FLOAT else column  # exact, also when Python reads it
        text = F.concat(F.lit("v"), number.cast("string"))
    # Never null: else Spark adds a projection for the text, and then sorts the rows once more.
    return F.coalesce(text, F.lit(_NULL))


def _digits(column: Column, type: Type) -> Column:
    if type == DATE:
        return F.unix_date(column)
    return micros(column, type) if type in (TIMESTAMP, TIMESTAMPTZ) else column.cast("bigint")


def _value(text: str, bound: BoundField, files: Files, info: FileInfo) -> Value | None:
    if text in (_NULL, _NULL_NUMBER):
        return None
    if text.startswith("h"):
        return bound.field.transform.apply(bound.source.type, _first_value(files, info, bound.path))
    try:
        return _READ[type(bound.type) if isinstance(bound.type, Decimal) else bound.type](text, bound.type)
    except (ValueError, OverflowError) as error:
        raise Invalid(
            "a partition value does not fit its type",
            subject=bound.field.name,
            expected=bound.type,
            found=text,
            advice="Leave out rows whose values are at the very end of the type, or are not UTF-8.",
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
    """The value of a column in the first row of a file."""
    name = ".".join(field.physical_name for field in path)
    try:
        with ParquetFile(PythonFile(_StoredFile(files, info), mode="r"), page_checksum_verification=True) as parquet:
            row: Any = next(parquet.iter_batches(1, columns=[name])).to_pylist()[0]
    except (ArrowException, OSError, ValueError) as error:
        raise Corrupt("this is not a complete Parquet file", subject=info.path, found=str(error)) from error
    for field in path:
        row = row[field.physical_name]
    return row


class _StoredFile(RawIOBase):
    """A stored file as a Python file, for a reader that needs only parts of it."""

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
