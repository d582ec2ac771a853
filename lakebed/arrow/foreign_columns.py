"""The columns of a file that another writer wrote, compared with a table's, and why they can't be read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow
from pyarrow.parquet import ColumnSchema, FileMetaData

from lakebed.arrow.shape import AS_STORED, misfits
from lakebed.arrow.types import FIELD_ID, is_list
from lakebed.table.manifest.file_fields import ABSENT
from lakebed.table.statistics.footers import annotation_of, is_form_of
from lakebed.table.types.names import folded_column, is_plain_name
from lakebed.table.types.types import (
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Field,
    Fields,
    List,
    Map,
    Simple,
    Struct,
    Type,
    children_of,
)

# In addition to Iceberg's own forms: both engines read these correctly, with filters too.
_MILLIS: dict[Type, str] = {
    TIMESTAMP: "Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds",
    TIMESTAMPTZ: "Timestamp(isAdjustedToUTC=true, timeUnit=milliseconds",
}
_REBASED = b"org.apache.spark.legacyDateTime"
_TIMED = ("INT32 Date", "INT64 Timestamp")


@dataclass(slots=True)
class ForeignColumns:
    """The columns of a file, compared with a table's fields.

    `field_ids` are the fields, on every level, that the file has; `others` are its other columns. `unsure` are the
    fields that the table requires and the file allows to be null. `problems` say by column why the file can't be read.
    """

    field_ids: set[int] = field(default_factory=set)
    others: list[str] = field(default_factory=list)
    unsure: set[int] = field(default_factory=set)
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, problem: str) -> None:
        """Add a problem of a column, unless it has one already."""
        self.problems.setdefault(path, problem)


def foreign_columns(
    metadata: FileMetaData, form: pyarrow.Schema, fields: Fields, *, exact: bool = False
) -> ForeignColumns:
    """Compare a file's columns, which Arrow reads in this form, with a table's fields by their physical names.

    `exact`: these names were found by field ids, or are known, so that no other column can be mistaken for a field.
    """
    result = ForeignColumns()
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    if not _is_one_to_one(form, columns):
        result.add("its columns", "Arrow and Parquet disagree on them")
        return result
    for misfit in misfits(form, fields, AS_STORED):
        if misfit.expected is not None:
            result.add(misfit.path, f"{misfit.expected} expected, {misfit.found or 'no such column'} found")
    _Comparison(result, iter(columns), exact).compare(form, fields, "")
    if _REBASED in (metadata.metadata or {}) and any(_form(column).startswith(_TIMED) for column in columns):
        result.add("its dates", "written in the calendar of Spark 2, which Arrow reads as today's")
    if not result.field_ids:
        result.add("its columns", "none of them is the table's")
    return result


class _Comparison:
    """Walks through the fields in Arrow's form and, leaf by leaf, through the columns in Parquet's."""

    def __init__(self, result: ForeignColumns, columns: Iterator[ColumnSchema], exact: bool) -> None:
        self._result = result
        self._columns = columns
        self._exact = exact

    def compare(self, arrow: Iterable[pyarrow.Field], fields: Fields, path: str) -> None:
        wanted = {field.physical_name: field for field in fields}
        seen: set[str] = set()
        for column in arrow:
            if column.name in wanted and column.name not in seen:
                self._field(column, wanted[column.name], f"{path}{wanted[column.name].name}")
            else:
                self._other(column, fields, path, seen)
            seen.add(column.name)

    def _field(self, arrow: pyarrow.Field, field: Field, path: str) -> None:
        self._result.field_ids.add(field.id)
        if _id(arrow) not in (None, field.id):
            self._result.add(path, f"field id {field.id} expected, {_id(arrow)} found: it is another table's file")
        if field.required and arrow.nullable:
            self._result.unsure.add(field.id)
        match field.type:
            case Struct(fields) if pyarrow.types.is_struct(arrow.type):
                self.compare(arrow.type, fields, f"{path}.")
            case List() if is_list(arrow.type):
                self._parts((arrow.type.value_field,), children_of(field.type), path)
            case Map() if pyarrow.types.is_map(arrow.type):
                self._parts((arrow.type.key_field, arrow.type.item_field), children_of(field.type), path)
            case _ if isinstance(field.type, Simple) and not arrow.type.num_fields:
                self._leaf(next(self._columns), field, path)
            case _:
                self._skip(arrow)  # a misfit already

    def _parts(self, arrow: Sequence[pyarrow.Field], parts: Fields, path: str) -> None:
        for column, part in zip(arrow, parts, strict=True):
            self._field(column, part, f"{path}.{part.name}")

    def _leaf(self, column: ColumnSchema, field: Field, path: str) -> None:
        if not (is_form_of(field.type, column) or _is_millis(field, column)):
            self._result.add(path, f"{field.type} expected, {_form(column)} found")
        elif isinstance(field.type, Decimal) and column.precision < field.type.precision and not field.widened_from:
            # Spark fails on such a file, unless it knows that the column was widened.
            self._result.add(path, f"{field.type} expected, {_form(column)} found: the table's files have more digits")

    def _other(self, arrow: pyarrow.Field, fields: Fields, path: str, seen: set[str]) -> None:
        """Add a column that is not one of the fields, and refuse it if it could be mistaken for one."""
        self._result.others.append(f"{path}{arrow.name}")
        if arrow.name in seen:
            self._result.add(f"{path}{arrow.name}", "there are two columns of this name")
        if not self._exact:
            self._check_other_table(arrow, fields, path, seen)
        if arrow.name.startswith(ABSENT):
            self._result.add(f"{path}{arrow.name}", f"a name that begins with {ABSENT!r}")
        self._skip(arrow)

    def _check_other_table(self, arrow: pyarrow.Field, fields: Fields, path: str, seen: set[str]) -> None:
        near = next((field for field in fields if folded_column(arrow.name) in _names(field)), None)
        if near is not None and arrow.name not in seen:
            called = near.physical_name if is_plain_name(near.name) else near.name
            self._result.add(f"{path}{arrow.name}", f"files of the table call the column {called!r}")
        if _id(arrow) is not None:
            self._result.add(f"{path}{arrow.name}", f"field id {_id(arrow)}, which belongs to another table")

    def _skip(self, arrow: pyarrow.Field) -> None:
        for _ in range(_leaf_count(arrow.type)):
            next(self._columns)


def _names(field: Field) -> tuple[str, str]:
    return folded_column(field.name), folded_column(field.physical_name)


def _id(arrow: pyarrow.Field) -> int | None:
    text = (arrow.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)


def _is_millis(field: Field, column: ColumnSchema) -> bool:
    return column.physical_type == "INT64" and annotation_of(column) == _MILLIS.get(field.type)


def _form(column: ColumnSchema) -> str:
    """A column's type in Parquet."""
    annotation = annotation_of(column)
    return column.physical_type if annotation == "None" else f"{column.physical_type} {annotation}"


def _leaf_count(type: pyarrow.DataType) -> int:
    return sum(_leaf_count(type.field(place).type) for place in range(type.num_fields)) if type.num_fields else 1


def _is_one_to_one(form: pyarrow.Schema, columns: Sequence[ColumnSchema]) -> bool:
    """Whether each leaf of Arrow's is the Parquet column at its place: extension types may hide several."""
    roots = [field.name for field in form for _ in range(_leaf_count(field.type))]
    return len(roots) == len(columns) and all(
        f"{column.path}.".startswith(f"{root}.") for root, column in zip(roots, columns, strict=True)
    )
