"""Entries for Parquet files that another writer wrote, with their partition values: files are read, never copied."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from os.path import isdir
from re import compile as pattern
from uuid import UUID

import pyarrow
import pyarrow.compute
from pyarrow.parquet import FileMetaData, ParquetFile

from lakebed.arrow.foreign_columns import ForeignColumns, foreign_columns
from lakebed.arrow.read.stored import BATCH_ROWS
from lakebed.arrow.shape import AS_STORED, shaped
from lakebed.arrow.transforms import column_at, plain_value, transformed
from lakebed.arrow.types import file_schema
from lakebed.errors import Corrupt, Invalid, NotFound
from lakebed.files import Files
from lakebed.files.os_errors import error_for
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.file_fields import set_field_ids
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.partition.values import set_partition
from lakebed.table.plan.blooms import seal_blooms
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.footers import chunk_start, data_file
from lakebed.table.types.types import DOUBLE, FLOAT, Field
from lakebed.table.types.values import decode_bound

MAGIC = b"PAR1"

Known = tuple[Value | None]
"""The one value that all rows have."""

_GLOB = pattern(r"[*?\[\]{}]")


def added_files(files: Files, schema: Schema, spec: PartitionSpec, given: Sequence[str]) -> list[DataFileRef]:
    """The entries of files to add to a table with this schema and spec, in their order.

    `given` are addresses as `Files.path_of` takes them. Footers are read; rows only where statistics don't say that
    required columns have no null, or which partition the rows are in. `NotFound` names all missing files, `Invalid` all
    that can't be read as rows of the table, with every reason.
    """
    paths = _distinct_paths(files, given)
    _check_exist(files, paths)
    entries, problems = [], []
    for path in paths:
        file = _File(files, path, schema, spec)
        entries.append(file.entry())
        problems += file.problems
    if problems:
        raise _refused(problems, len(paths))
    return [entry for entry in entries if entry is not None]


def _distinct_paths(files: Files, given: Sequence[str]) -> list[str]:
    paths: dict[str, str] = {}
    for address in given:
        path = files.path_of(address)
        if path in paths:
            raise Invalid("a file is given twice", subject=address, found=f"{paths[path]} too")
        _check_path(path)
        paths[path] = address
    return list(paths)


def _check_path(path: str) -> None:
    """Refuse files that Spark would skip silently, and files in the folders of tables, which may be deleted."""
    *folders, name = path.split("/")
    if name.startswith(("_", ".")) or name.endswith("._COPYING_"):
        expected = "a name that does not begin with _ or . and does not end with ._COPYING_"
        raise Invalid("Spark skips files of such names", subject=path, expected=expected, advice="Rename the file.")
    if "://" not in path and any(map(_is_id, folders)):
        raise Invalid(
            "the file is in the folder of a table, whose files come and go with the table",
            subject=path,
            expected="a file that Lakebed did not write",
            advice="To bring back rows, use restore_table, revert or a branch. To copy rows, use append(other.scan()).",
        )


def _is_id(part: str) -> bool:
    with suppress(ValueError):
        return str(UUID(part)) == part
    return False


def _check_exist(files: Files, paths: Sequence[str]) -> None:
    missing = [path for path in paths if not files.exists(path)]
    for path in missing:
        if isdir(files.location(path)):
            raise Invalid("this is a folder", subject=path, expected="files", advice="List the files in it.")
        if _GLOB.search(files.location(path)):
            advice = "Give the files that it matches: glob.glob(…)."
            raise Invalid("this is a pattern, and no file has this name", subject=path, advice=advice)
    if missing:
        raise NotFound(
            "there is no such file" if len(missing) == 1 else f"{len(missing)} files are missing",
            subject=", ".join(missing),
            expected="files that exist",
            advice="Nothing was added. Check the paths.",
        )


class _File:
    """A file that is to become an entry, and the problems that prevent it."""

    def __init__(self, files: Files, path: str, schema: Schema, spec: PartitionSpec) -> None:
        self._files, self._path, self._schema, self._spec = files, path, schema, spec
        self.problems: list[str] = []

    def entry(self) -> DataFileRef | None:
        """The entry, None if there are problems."""
        try:
            return self._read_entry()
        except (Corrupt, Invalid) as error:
            self._add(f"{error.subject}: {error.problem}" if error.subject != self._path else error.problem)
        except OSError as error:
            if error.errno is not None:  # an error of the system; Arrow's errors have no number
                raise error_for(error, self._path) from error
            self._add(f"not a readable Parquet file: {error}")
        except (pyarrow.ArrowException, ValueError) as error:  # a name that is not UTF-8 is a ValueError
            self._add(f"not a readable Parquet file: {error}")
        return None

    def _read_entry(self) -> DataFileRef | None:
        size = self._files.size(self._path)
        if self._files.read(self._path, 0, min(size, len(MAGIC))) != MAGIC:
            self._add("not a Parquet file, or its footer is encrypted: it does not begin with PAR1")
            return None
        with ParquetFile(
            self._files.location(self._path), page_checksum_verification=True, pre_buffer=False
        ) as parquet:
            self._check_footer(parquet.metadata, size)
            if self.problems:
                return None
            self._check_whole(parquet.metadata, size)
            columns = foreign_columns(parquet.metadata, parquet.schema_arrow, self._schema.fields)
            for column, problem in columns.problems.items():
                self._add(f"{column}: {problem}")
            return None if self.problems else self._described(parquet, size, columns)

    def _add(self, problem: str) -> None:
        self.problems.append(f"{self._path}: {problem}")

    def _check_footer(self, metadata: FileMetaData, size: int) -> None:
        """Refuse a signed footer, which comes with encrypted columns: Arrow 26 aborts when it is asked for one."""
        footer = int.from_bytes(self._files.read(self._path, size - 8, 4), "little")
        if footer != metadata.serialized_size:
            self._add("encrypted, or its footer is not Parquet's")

    def _check_whole(self, metadata: FileMetaData, size: int) -> None:
        """Refuse a footer whose numbers of rows and places contradict each other."""
        groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
        rows = sum(group.num_rows for group in groups)
        if rows != metadata.num_rows:
            self._add(f"{metadata.num_rows} rows by its footer, {rows} by its row groups")
        if not rows:
            self._add("no rows")
        for group in groups:
            for place in range(group.num_columns):
                chunk = group.column(place)
                if not len(MAGIC) <= chunk_start(chunk) <= size - chunk.total_compressed_size:
                    self._add(f"the column {chunk.path_in_schema} ends beyond the file")
                if not metadata.schema.column(place).max_repetition_level and chunk.num_values != group.num_rows:
                    found = f"{chunk.num_values} values in {group.num_rows} rows"
                    self._add(f"the column {chunk.path_in_schema} has {found}")

    def _described(self, parquet: ParquetFile, size: int, columns: ForeignColumns) -> DataFileRef | None:
        file = data_file(parquet.metadata, self._schema, path=self._path, size=size)
        if columns.others:
            set_field_ids(file, columns.field_ids)
        seal_blooms(file, self._files.read)
        fields = bound_fields(self._spec, self._schema)
        known = {bound.field.field_id: _known_value(bound, file, columns.field_ids) for bound in fields}
        open_fields = [bound for bound in fields if known[bound.field.field_id] is None]
        wanted = {bound.path[0].id for bound in open_fields} | self._unsure(columns, file)
        known |= self._read(parquet, [field for field in self._schema.fields if field.id in wanted], open_fields)
        if self.problems:
            return None
        if self._spec.fields:
            set_partition(file, self._spec, self._schema, [_value(known[bound.field.field_id]) for bound in fields])
        return file

    def _unsure(self, columns: ForeignColumns, file: DataFileRef) -> set[int]:
        """The columns that have to be read: they may have nulls where the table allows none."""
        nulls = {column.field_id: column.null_count for column in file.statistics if column.HasField("null_count")}
        ways = [self._schema.ways[id] for id in columns.unsure]
        for [field, *inside] in ways:
            if not inside and nulls.get(field.id):
                self._add(f"{field.name}: {nulls[field.id]} nulls, and the table requires a value")
        return {field.id for [field, *inside] in ways if inside or field.id not in nulls}

    def _read(
        self, parquet: ParquetFile, wanted: Sequence[Field], partitioned: Sequence[BoundField]
    ) -> dict[int, Known | None]:
        """Read columns: `Invalid` for a null in a required column; return the partition values of all rows."""
        if not wanted:
            return {}
        form, seen = file_schema(Schema(wanted)), _PartitionValues(partitioned)
        for batch in parquet.iter_batches(BATCH_ROWS, columns=[field.physical_name for field in wanted]):
            columns = shaped(batch.columns, batch.schema.names, wanted, form, AS_STORED, batch.num_rows)
            seen.add(pyarrow.Table.from_arrays(columns, schema=form))
        known: dict[int, Known | None] = {}
        for bound, values in seen.values():
            if len(values) > 1:
                self._add(f"{bound.field.name}: rows of several partitions, such as {values[0]!r} and {values[1]!r}")
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


def _known_value(bound: BoundField, file: DataFileRef, field_ids: Iterable[int]) -> Known | None:
    """The partition value of all rows of a file, if it is known without reading them."""
    if bound.field.transform.name == "void":
        return (None,)
    if bound.path[0].id not in field_ids:
        default = bound.path[0].initial_default if len(bound.path) == 1 else None
        return (bound.field.transform.apply(bound.source.type, default),)
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


def _refused(problems: Sequence[str], count: int) -> Invalid:
    return Invalid(
        "the files can't be read as rows of the table",
        subject=f"{count} files" if count > 1 else "",
        expected="Parquet files whose columns have the table's types, and the names that the table's files use",
        found="; ".join(problems),
        advice="Nothing was added. Change the table, write the files again, or append(…) their rows.",
    )
