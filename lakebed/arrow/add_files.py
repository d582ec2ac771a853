"""Entries for Parquet files that another writer wrote, with their partition values: files are read, never copied."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow
import pyarrow.compute
from pyarrow.parquet import ParquetFile

from lakebed.arrow.foreign_columns import ForeignColumns, foreign_columns
from lakebed.arrow.foreign_names import file_names
from lakebed.arrow.given_files import given_files
from lakebed.arrow.read.stored import BATCH_ROWS, opened_parquet
from lakebed.arrow.shape import AS_STORED, shaped
from lakebed.arrow.transforms import column_at, plain_value, transformed
from lakebed.arrow.types import file_schema
from lakebed.arrow.validation import check_values
from lakebed.catalog.data.footers import read_footer
from lakebed.catalog.data.foreign import ForeignFiles, Problem
from lakebed.catalog.data.row_sources import is_own_file
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.files.os_errors import error_for
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.file_fields import set_column_names, set_constants, set_field_ids, with_column_names
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.parquet.footer import MAGIC
from lakebed.table.partition.hive import column_values, folder_values
from lakebed.table.partition.spec import FIRST_FIELD_ID, BoundField, PartitionField, PartitionSpec, bound_fields
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.partition.values import set_partition, value_text
from lakebed.table.plan.blooms import seal_blooms
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, STRING, TIME, Decimal, Field, Type, children_of
from lakebed.table.types.values import decode_bound, is_nan

Known = tuple[Value | None]
"""The one value that all rows have."""

Said = Mapping[Field, Value | None]
"""The values of columns that the names of folders say."""


def added_files(
    files: Files,
    schema: Schema,
    spec: PartitionSpec,
    given: Sequence[str],
    values: Said | None = None,
    root: str = "",
    *,
    verify: bool = True,
    without: Collection[str] = (),
) -> list[DataFileRef]:
    """The entries of files to add to a table with this schema and spec, in their order.

    `given` are files, folders and patterns, as `given_files` takes them, but not those `without`. Hive's folders
    (`month=2026-01`) say values of columns; `values` are those of an explicit partition, which no folder below `root`
    may contradict: what is above it means nothing then. Footers are read, and columns of types that not all bytes are
    values of, unless `verify` is False; others only where statistics don't say that required columns have no null, or
    which value of a partition or folder the rows have. `NotFound` names all missing files, `Invalid` all that can't be
    read as rows of the table, with every reason.
    """
    found = {path: place for path, place in given_files(files, given).items() if path not in without}
    known = {field.id: value for field, value in (values or {}).items()}
    entries, problems = examined_files(files, schema, spec, ForeignFiles(found, root, values=known, verify=verify))
    if problems:
        raise _refused(problems, len(found))
    return entries


def examined_files(
    files: Files, schema: Schema, spec: PartitionSpec, foreign: ForeignFiles
) -> tuple[list[DataFileRef], list[Problem]]:
    """The entries of files that fit a table with this schema and spec, and all reasons why others don't."""
    entries, problems = list[DataFileRef](), list[Problem]()
    for path in foreign.places:
        _check_path(path)
        file = _File(files, path, schema, spec, foreign)
        entry = file.entry()
        problems += [(path, problem) for problem in file.problems]
        if entry is not None:
            entries.append(entry)
    return entries, problems


def _check_path(path: str) -> None:
    """Refuse files that Spark would skip silently, and files in the folders of tables, which may be deleted."""
    name = path.rpartition("/")[2]
    if name.startswith(("_", ".")) or name.endswith("._COPYING_"):
        expected = "a name that does not begin with _ or . and does not end with ._COPYING_"
        raise Invalid("Spark skips files of such names", subject=path, expected=expected, advice="Rename the file.")
    if name.startswith("catalog.db"):  # before it is opened: closing it drops the locks that SQLite has on it
        raise Invalid("this file is part of a lake's catalog", subject=path, expected="a Parquet file")
    if is_own_file(path):
        raise Invalid(
            "the file is in the folder of a table, whose files come and go with the table",
            subject=path,
            expected="a file that Lakebed did not write",
            advice="To bring back rows, use restore_table, revert or a branch. To copy rows, use append(other.scan()).",
        )


class _File:
    """A file that is to become an entry, and the problems that prevent it."""

    def __init__(self, files: Files, path: str, schema: Schema, spec: PartitionSpec, foreign: ForeignFiles) -> None:
        self._files, self._path, self._schema, self._spec = files, path, schema, spec
        self._foreign = foreign
        self._place = foreign.places[path].removeprefix(foreign.root)
        self._values = foreign.values_in(path)
        self._names: dict[int, str] = {}
        self.problems: list[str] = []

    def entry(self) -> DataFileRef | None:
        """The entry, None if there are problems."""
        try:
            return self._read_entry()
        except (Corrupt, Invalid) as error:
            self._add(f"{error.subject}: {error.problem}" if error.subject not in ("", self._path) else error.problem)
        except OSError as error:
            if error.errno is not None:  # an error of the system; Arrow's errors have no number
                raise error_for(error, self._path) from error
            self._add(f"not a readable Parquet file: {error}")
        except (pyarrow.ArrowException, ValueError) as error:  # a name that is not UTF-8 is a ValueError
            self._add(f"not a readable Parquet file: {error}")
        return None

    def _read_entry(self) -> DataFileRef | None:
        size = self._files.size(self._path)
        footer = read_footer(self._files, self._path, size)
        if (footer.whole or self._files.read(self._path, 0, len(MAGIC)))[: len(MAGIC)] != MAGIC:
            self._add("not a Parquet file, or its footer is encrypted: it does not begin with PAR1")
            return None
        skipped = footer.check()  # before Arrow sees it
        with opened_parquet(self._files, self._path, footer) as parquet:
            if not parquet.metadata.num_rows:
                self._add("no rows")
            self._names = file_names(parquet.schema_arrow, self._schema.fields, self._foreign)
            self._schema = Schema(with_column_names(self._schema.fields, self._names), self._schema.id)
            said = self._said()
            form, exact = parquet.schema_arrow, self._foreign.is_exact
            constants = {field: value for field, value in said.items() if not _has_column(form, field, exact)}
            stored = tuple(field for field in self._schema.fields if field not in constants)
            columns = foreign_columns(parquet.metadata, form, stored, exact=exact)
            for column, problem in columns.problems.items():
                self._add(f"{column}: {problem}")
            self._check_constants(constants)
            if self.problems:
                return None
            file = data_file(parquet.metadata, self._schema, path=self._path, size=size, skipped=skipped)
            file.footer_checksum = footer.checksum
            return self._described(file, parquet, columns, said, constants)

    def _said(self) -> Said:
        """The values that folders and the partition say; a problem if they differ."""
        folders = folder_values(self._place.split("/")[:-1]) if self._foreign.has_folders else {}
        said = column_values(folders, self._schema.fields)
        own = {field: self._values[field.id] for field in self._schema.fields if field.id in self._values}
        for field, value in said.items():
            if field in own and own[field] != value:
                self._add(
                    f"{field.name}: the folder says {_shown(field, value)}, the partition {_shown(field, own[field])}"
                )
        return {**said, **own}

    def _add(self, problem: str) -> None:
        self.problems.append(problem)

    def _check_constants(self, constants: Said) -> None:
        """Refuse values that only folders say, unless the table is partitioned by the column itself."""
        own = {field.source_id for field in self._spec.fields if field.transform == IDENTITY}
        for field, value in constants.items():
            if field.id not in own:
                self._add(
                    f"{field.name}: only the folder says it, and the table is not partitioned by it: run"
                    f' evolve() with change.partition_by(["{field.name}"]) first, or append(…) the rows'
                )
            elif value is None and field.required:
                self._add(f"{field.name}: the folder says null, and the table requires a value")

    def _described(
        self, file: DataFileRef, parquet: ParquetFile, columns: ForeignColumns, said: Said, constants: Said
    ) -> DataFileRef | None:
        """Complete the entry of a file that has its statistics."""
        if columns.others or self._names:
            set_field_ids(file, columns.field_ids)
            set_column_names(file, {id: name for id, name in self._names.items() if id in columns.field_ids})
        seal_blooms(file, self._files.read)
        set_constants(file, constants)
        fields = bound_fields(self._spec, self._schema)
        checked = {field: _whole_column(field, fields) for field in said if field not in constants}
        wanted = list(dict.fromkeys((*fields, *checked.values())))
        known = {bound.field.field_id: _known_value(bound, file, columns.field_ids, constants) for bound in wanted}
        open_fields = [bound for bound in wanted if known[bound.field.field_id] is None]
        read = {bound.path[0].id for bound in open_fields} | self._unsure(columns, file) | self._unverified(columns)
        known |= self._read(parquet, [field for field in self._schema.fields if field.id in read], open_fields)
        for field, bound in checked.items():
            self._check_said(field, said[field], _value(known[bound.field.field_id]))
        if self.problems:
            return None
        if self._spec.fields:
            set_partition(file, self._spec, self._schema, [_value(known[bound.field.field_id]) for bound in fields])
        return file

    def _check_said(self, field: Field, said: Value | None, stored: Value | None) -> None:
        """Refuse a file whose folder says another value than its rows have."""
        if said != stored and not (is_nan(said) and is_nan(stored)):
            says = "partition" if field.id in self._values else "folder"
            self._add(f"{field.name}: the {says} says {_shown(field, said)}, the file {_shown(field, stored)}")

    def _unsure(self, columns: ForeignColumns, file: DataFileRef) -> set[int]:
        """The columns that have to be read: they may have nulls where the table allows none."""
        nulls = {column.field_id: column.null_count for column in file.statistics if column.HasField("null_count")}
        ways = [self._schema.ways[id] for id in columns.unsure]
        for [field, *inside] in ways:
            if not inside and nulls.get(field.id):
                self._add(f"{field.name}: {nulls[field.id]} nulls, and the table requires a value")
        return {field.id for [field, *inside] in ways if inside or field.id not in nulls}

    def _unverified(self, columns: ForeignColumns) -> set[int]:
        """The columns of the file that may have values which no reader takes: text that is not UTF-8, say."""
        stored = (field for field in self._schema.fields if field.id in columns.field_ids)
        return {field.id for field in stored if self._foreign.verify and _may_be_unreadable(field.type)}

    def _read(
        self, parquet: ParquetFile, wanted: Sequence[Field], partitioned: Sequence[BoundField]
    ) -> dict[int, Known | None]:
        """Read columns: `Invalid` for a null in a required column, or for a value that its type can't have.

        It returns the partition values of all rows.
        """
        if not wanted:
            return {}
        form, seen = file_schema(Schema(wanted)), _PartitionValues(partitioned)
        for batch in parquet.iter_batches(BATCH_ROWS, columns=[field.physical_name for field in wanted]):
            check_values(batch)
            columns = shaped(batch.columns, batch.schema.names, wanted, form, AS_STORED, batch.num_rows)
            seen.add(pyarrow.Table.from_arrays(columns, schema=form))
        known: dict[int, Known | None] = {}
        for bound, values in seen.values():
            if len(values) > 1:
                of_what = "partitions" if bound.field.field_id >= FIRST_FIELD_ID else "folders"
                self._add(f"{bound.field.name}: rows of several {of_what}, such as {values[0]!r} and {values[1]!r}")
            known[bound.field.field_id] = (values[0],)
        return known


class _PartitionValues:
    """Collects the partition values of rows, from one table in the form of files after another."""

    def __init__(self, fields: Sequence[BoundField]) -> None:
        self._fields = fields
        self._seen: dict[int, pyarrow.Array] = {}

    def add(self, rows: pyarrow.Table) -> None:
        for bound in self._fields:
            column = transformed(column_at(rows, bound.path), bound.field.transform, bound.source.type)
            before = self._seen.get(bound.field.field_id)
            values = [pyarrow.compute.unique(column), *([] if before is None else [before])]
            self._seen[bound.field.field_id] = pyarrow.compute.unique(pyarrow.concat_arrays(values))

    def values(self) -> Iterator[tuple[BoundField, list[Value | None]]]:
        """Each field with at most two of its values: two mean that there are several."""
        for bound in self._fields:
            yield bound, [plain_value(value, bound.type) for value in self._seen[bound.field.field_id][:2]]


def _may_be_unreadable(type: Type) -> bool:
    """Whether a page may have bytes that are not a value of the type, or of one inside it."""
    return (
        type in (STRING, TIME)
        or isinstance(type, Decimal)
        or any(_may_be_unreadable(child.type) for child in children_of(type))
    )


def _has_column(form: pyarrow.Schema, field: Field, exact: bool) -> bool:
    """Whether a file has the column, or one that could be mistaken for it."""
    if exact:
        return field.physical_name in form.names
    names = {folded_column(field.name), folded_column(field.physical_name)}
    return any(folded_column(column.name) in names for column in form)


def _whole_column(field: Field, fields: Iterable[BoundField]) -> BoundField:
    """A column's own value as a partition field: the table's, or one with an id that no partition field has."""
    own = (bound for bound in fields if bound.path == (field,) and bound.field.transform == IDENTITY)
    return next(own, None) or BoundField(PartitionField(field.id, -field.id, field.name, IDENTITY), (field,))


def _shown(field: Field, value: Value | None) -> str:
    return value_text(IDENTITY, field.type, value)


def _known_value(bound: BoundField, file: DataFileRef, field_ids: Iterable[int], constants: Said) -> Known | None:
    """The partition value of all rows of a file, if it is known without reading them."""
    if bound.field.transform.name == "void":
        return (None,)
    if bound.path[0].id not in field_ids:
        default = bound.path[0].initial_default if len(bound.path) == 1 else None
        return (bound.field.transform.apply(bound.source.type, constants.get(bound.path[0], default)),)
    known = next((column for column in file.statistics if column.field_id == bound.source.id), ColumnStatistics())
    if known.HasField("null_count") and known.null_count == known.value_count:
        return (None,)
    # NaN is in no bounds.
    if known.null_count or not known.HasField("null_count") or bound.source.type in (FLOAT, DOUBLE):
        return None
    return _value_between(bound, known) if known.HasField("lower") and known.HasField("upper") else None


def _value_between(bound: BoundField, known: ColumnStatistics) -> Known | None:
    """The partition value of everything between the bounds, if there is only one; the bounds may be too wide."""
    type, transform = bound.source.type, bound.field.transform
    lower, upper = decode_bound(type, known.lower), decode_bound(type, known.upper)
    if lower != upper and not transform.keeps_order:
        return None
    first, last = transform.apply(type, lower), transform.apply(type, upper)
    return (first,) if first == last else None


def _value(known: Known | None) -> Value | None:
    return None if known is None else known[0]


def _refused(problems: Sequence[Problem], count: int) -> Invalid:
    return Invalid(
        "the files can't be read as rows of the table",
        subject=f"{count} files" if count > 1 else "",
        expected="Parquet files whose columns have the table's types, and the names that the table's files use",
        found="; ".join(f"{path}: {problem}" for path, problem in problems),
        advice="Nothing was added. Change the table, write the files again, or append(…) their rows.",
    )
