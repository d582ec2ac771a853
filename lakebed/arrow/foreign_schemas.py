"""The columns of files that another writer wrote, taken together: as a new table has them, and what it can't have."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow
from pyarrow.parquet import ParquetSchema

from lakebed.arrow.read.stored import opened_parquet
from lakebed.arrow.types import FIELD_ID, is_list, schema_of
from lakebed.catalog.data.footers import read_footer
from lakebed.catalog.data.foreign import Problem
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.files.os_errors import error_for
from lakebed.table.schema.evolution import widens
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Fields, List, Map, Struct, Type, children_of, walk, with_children

MOST_ID = 1 << 30
"""Ids from here on are not kept: a table counts on from the highest, and Iceberg reserves those near 2^31."""

MOST_SHOWN = 200
"""Characters of a type that no table can have: it may be nested without end."""


@dataclass(frozen=True, slots=True)
class ForeignColumn:
    """A column of files, by the name that they give it, and its type there; `field` is None if no table can have it."""

    name: str
    type: str
    field: Field | None


@dataclass(slots=True)
class ForeignSchema:
    """What the footers of files say: the columns of all, and of each file its rows and its footer's checksum.

    `by_path` has the columns of each file. Columns are optional, and as wide as the widest file has them.
    """

    columns: list[ForeignColumn] = field(default_factory=list)
    by_path: dict[str, Fields] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    checksums: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def fields(self) -> Fields:
        """The columns that a table can have; with the files' own ids, if these are ids of one table."""
        found = tuple(column.field for column in self.columns if column.field is not None)
        ids = Counter(way[-1].id for way in walk(found))
        are_ids = bool(ids) and max(ids.values()) == 1 and min(ids) > 0 and max(ids) < MOST_ID
        return found if are_ids else _without_ids(found)


def foreign_schema(files: Files, paths: Collection[str], without: Collection[str] = ()) -> ForeignSchema:
    """Read the footers of files; columns `without` are left out, by name and without case."""
    found, left_out = ForeignSchema(), {folded_column(name) for name in without}
    columns: dict[str, ForeignColumn] = {}
    for path in paths:
        form = _form(files, path, found)
        if form is None:
            continue
        own: dict[str, Field | None] = {}
        for arrow in form:
            key = folded_column(arrow.name)
            if key in left_out:
                continue
            if key in own:
                found.problems.append((path, f"{arrow.name}: two columns have this name, compared without case"))
                continue
            column = _column(path, arrow, found)
            own[key] = column.field
            columns[key] = column if key not in columns else _joined(path, columns[key], column, found)
        if found.rows[path]:  # a table has no files without rows
            found.by_path[path] = tuple(field for field in own.values() if field is not None)
    found.columns = list(columns.values())
    return found


def _form(files: Files, path: str, found: ForeignSchema) -> pyarrow.Schema | None:
    """A file's columns as Arrow reads them; a problem if it has no footer that can be read."""
    try:
        footer = read_footer(files, path, files.size(path))
        footer.check()
        with opened_parquet(files, path, footer) as parquet:
            found.rows[path], found.checksums[path] = parquet.metadata.num_rows, footer.checksum
            return _with_instants(parquet.schema_arrow, parquet.schema)
    except (Corrupt, Invalid) as error:
        found.problems.append((path, error.problem))
    except OSError as error:
        if error.errno is not None:  # an error of the system; Arrow's errors have no number
            raise error_for(error, path) from error
        found.problems.append((path, f"not a readable Parquet file: {error}"))
    except (pyarrow.ArrowException, ValueError) as error:  # a name that is not UTF-8 is a ValueError
        found.problems.append((path, f"not a readable Parquet file: {error}"))
    return None


def _with_instants(form: pyarrow.Schema, schema: ParquetSchema) -> pyarrow.Schema:
    """The columns; Spark's old timestamps of 96 bits are instants, though their files don't say so."""
    for place in range(len(schema.names)):
        column = schema.column(place)
        if column.physical_type == "INT96" and column.path in form.names:
            own = form.get_field_index(column.path)
            form = form.set(own, form.field(own).with_type(pyarrow.timestamp("us", "UTC")))
    return form


def _column(path: str, arrow: pyarrow.Field, found: ForeignSchema) -> ForeignColumn:
    try:
        [own] = schema_of(pyarrow.schema([arrow.with_nullable(True)])).fields
    except Invalid as error:
        found.problems.append((path, f"{error.subject}: {error.problem} ({str(arrow.type)[:MOST_SHOWN]})"))
        return ForeignColumn(arrow.name, str(arrow.type), None)
    return ForeignColumn(arrow.name, str(arrow.type), _with_ids(_optional(own), arrow))


def _joined(path: str, first: ForeignColumn, second: ForeignColumn, found: ForeignSchema) -> ForeignColumn:
    """A column as two files have it; a problem if no type has the values of both."""
    if first.field is None or second.field is None:
        return first
    joined = _joined_field(first.field, second.field)
    if joined is None:
        problem = f"{second.name}: {first.field.type} in other files, {second.field.type} here"
        found.problems.append((path, problem))
        return first
    return replace(first, field=joined)


def _joined_field(first: Field, second: Field) -> Field | None:
    type = _joined_type(first.type, second.type)
    if type is None:
        return None
    narrow = next((one for one in (first.type, second.type) if one != type and not children_of(one)), None)
    widened = first.widened_from or second.widened_from or narrow
    if widened is not None and narrow is not None and widens(narrow, widened):
        widened = narrow
    id = first.id if first.id == second.id else 0
    return replace(first, type=type, id=id, widened_from=widened)


def _joined_type(first: Type, second: Type) -> Type | None:
    if widens(first, second):
        return second
    if widens(second, first):
        return first
    if type(first) is not type(second) or not isinstance(first, Struct | List | Map):
        return None
    if isinstance(first, Struct) and isinstance(second, Struct):
        return _joined_struct(first, second)
    pairs = zip(children_of(first), children_of(second), strict=True)
    children = [_joined_field(one, other) for one, other in pairs]
    return None if None in children else with_children(first, tuple(child for child in children if child is not None))


def _joined_struct(first: Struct, second: Struct) -> Struct | None:
    fields = {folded_column(one.name): one for one in first.fields}
    for other in second.fields:
        own = fields.get(folded_column(other.name))
        joined = other if own is None else _joined_field(own, other)
        if joined is None:
            return None
        fields[folded_column(other.name)] = joined
    return Struct(tuple(fields.values()))


def _optional(field: Field) -> Field:
    """The field, on every level as optional as files that come later may need it; keys of maps stay required."""
    children = tuple(_optional(child) for child in children_of(field.type))
    return replace(field, required=False, type=with_children(field.type, children))


def _with_ids(field: Field, arrow: pyarrow.Field) -> Field:
    """The field with the ids that the file has for it and the fields inside it, 0 where it has none."""
    inner = children_of(field.type)
    children = tuple(_with_ids(child, part) for child, part in zip(inner, _parts(arrow.type), strict=True))
    return replace(field, id=_id(arrow), type=with_children(field.type, children))


def _parts(type: pyarrow.DataType) -> Sequence[pyarrow.Field]:
    if pyarrow.types.is_map(type):
        return (type.key_field, type.item_field)
    if is_list(type):
        return (type.value_field,)
    return tuple(type) if pyarrow.types.is_struct(type) else ()


def _id(arrow: pyarrow.Field) -> int:
    metadata: Mapping[bytes, bytes] = arrow.metadata or {}
    return int(metadata.get(FIELD_ID, b"0"))


def _without_ids(fields: Fields) -> Fields:
    return tuple(
        replace(field, id=0, type=with_children(field.type, _without_ids(children_of(field.type)))) for field in fields
    )
