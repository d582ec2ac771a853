"""Entries for Parquet files that somebody else wrote, to be added to a table where they are: read, never copied."""

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

Known = tuple[Value | None]
"""One value that all rows have."""


def known_value(field: BoundField, file: DataFileRef, held: Iterable[int]) -> Known | None:
    """The partition value of all rows of a file, if that is sure without a look at them."""
    if field.field.transform.name == "void":
        return (None,)
    if field.path[0].id not in held:
        default = field.path[0].initial_default if len(field.path) == 1 else None
        return (field.field.transform.apply(field.source.type, default),)
    known = next((one for one in file.statistics if one.field_id == field.source.id), ColumnStatistics())
    if known.HasField("null_count") and known.null_count == known.value_count:
        return (None,)
    # A NaN is in no bounds.
    if known.null_count or not known.HasField("null_count") or field.source.type in (FLOAT, DOUBLE):
        return None
    return _between(field, known) if known.HasField("lower") and known.HasField("upper") else None


def _between(field: BoundField, known: ColumnStatistics) -> Known | None:
    """What a transform makes of all that lies between the bounds, if that is one value; they may lie too far out."""
    type, transform = field.source.type, field.field.transform
    lower, upper = decode_bound(type, known.lower), decode_bound(type, known.upper)
    if lower != upper and not transform.keeps_order:
        return None
    first, last = transform.apply(type, lower), transform.apply(type, upper)
    return (first,) if first == last else None


class PartitionValues:
    """The partition values that rows have, as they go by: a table in the form of files after the other."""

    def __init__(self, fields: Sequence[BoundField]) -> None:
        self._fields = fields
        self._seen: dict[int, pyarrow.Array] = {}

    def add(self, rows: pyarrow.Table) -> None:
        for one in self._fields:
            column = transformed(column_at(rows, one.path), one.field.transform, one.source.type)
            before = self._seen.get(one.field.field_id)
            found = [pyarrow.compute.unique(column), *([] if before is None else [before])]
            self._seen[one.field.field_id] = pyarrow.compute.unique(pyarrow.concat_arrays(found))

    def values(self) -> Iterator[tuple[BoundField, list[Value | None]]]:
        """Each field with its values, two of them at most, which say that there are several."""
        for one in self._fields:
            yield one, [plain_value(value, one.type) for value in self._seen[one.field.field_id][:2]]


MAGIC = b"PAR1"
_GLOB = pattern(r"[*?\[\]{}]")


def added_files(files: Files, schema: Schema, spec: PartitionSpec, given: Sequence[str]) -> list[DataFileRef]:
    """The entries of files that are to be added to a table with this schema and spec, in their order.

    `given` are addresses as `Files.path_of` takes them. Footers are read; rows only where statistics don't say that
    required columns have no null, or which partition the rows are in. `NotFound` names all that are not there,
    `Invalid` all that can't be read as rows of the table, with every reason.
    """
    paths = _distinct(files, given)
    _check_there(files, paths)
    entries, problems = [], []
    for path in paths:
        found = _File(files, path, schema, spec)
        entries.append(found.entry())
        problems += found.problems
    if problems:
        raise _unfit(problems, len(paths))
    return [one for one in entries if one is not None]


def _distinct(files: Files, given: Sequence[str]) -> list[str]:
    paths: dict[str, str] = {}
    for one in given:
        path = files.path_of(one)
        if path in paths:
            raise Invalid("a file is given twice", subject=one, found=f"{paths[path]} too")
        _check_path(path)
        paths[path] = one
    return list(paths)


def _check_path(path: str) -> None:
    """Refuse files that Spark would skip without a word, and those in the folders of tables, which are not for long."""
    *folders, name = path.split("/")
    if name.startswith(("_", ".")) or name.endswith("._COPYING_"):
        expected = "a name that does not begin with _ or . and does not end with ._COPYING_"
        raise Invalid("Spark skips files of such names", subject=path, expected=expected, advice="Rename the file.")
    if "://" not in path and any(map(_is_id, folders)):
        raise Invalid(
            "the file lies in the folder of a table, whose files come and go with it",
            subject=path,
            expected="a file that Lakebed did not write",
            advice="To bring back rows use restore_table, revert or a branch; to copy them append(other.scan()).",
        )


def _is_id(part: str) -> bool:
    with suppress(ValueError):
        return str(UUID(part)) == part
    return False


def _check_there(files: Files, paths: Sequence[str]) -> None:
    missing = [path for path in paths if not files.exists(path)]
    for path in missing:
        if isdir(files.location(path)):
            raise Invalid("this is a folder", subject=path, expected="files", advice="List those that are in it.")
        if _GLOB.search(files.location(path)):
            advice = "Give the files that it matches: glob.glob(…)."
            raise Invalid("this is a pattern, and no file has it for a name", subject=path, advice=advice)
    if missing:
        raise NotFound(
            "there is no such file" if len(missing) == 1 else f"{len(missing)} files are not there",
            subject=", ".join(missing),
            expected="files that are there",
            advice="Nothing was added.",
        )


class _File:
    """A file on its way to become an entry, and what keeps it from that."""

    def __init__(self, files: Files, path: str, schema: Schema, spec: PartitionSpec) -> None:
        self._files, self._path, self._schema, self._spec = files, path, schema, spec
        self.problems: list[str] = []

    def entry(self) -> DataFileRef | None:
        """The entry, None if there are problems."""
        try:
            return self._opened()
        except (Corrupt, Invalid) as error:
            self._add(f"{error.subject}: {error.problem}" if error.subject != self._path else error.problem)
        except OSError as error:
            if error.errno is not None:  # the system's; without a number it is Arrow's
                raise error_for(error, self._path) from error
            self._add(f"no Parquet file that can be read: {error}")
        except (pyarrow.ArrowException, ValueError) as error:  # a name that is no UTF-8 is a ValueError
            self._add(f"no Parquet file that can be read: {error}")
        return None

    def _opened(self) -> DataFileRef | None:
        size = self._files.size(self._path)
        if self._files.read(self._path, 0, min(size, len(MAGIC))) != MAGIC:
            self._add("no Parquet file, or one whose footer is encrypted: it does not begin with PAR1")
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
        """Refuse a footer that is signed, as those are of encrypted columns: asked for such a one, Arrow 26 aborts."""
        footer = int.from_bytes(self._files.read(self._path, size - 8, 4), "little")
        if footer != metadata.serialized_size:
            self._add("encrypted, or no footer of Parquet")

    def _check_whole(self, metadata: FileMetaData, size: int) -> None:
        """Refuse a footer that can't be true: what it says of rows and places has to fit together."""
        groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
        rows = sum(one.num_rows for one in groups)
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
            set_field_ids(file, columns.held)
        seal_blooms(file, self._files.read)
        bound = bound_fields(self._spec, self._schema)
        known = {one.field.field_id: known_value(one, file, columns.held) for one in bound}
        open_fields = [one for one in bound if known[one.field.field_id] is None]
        wanted = {one.path[0].id for one in open_fields} | self._unsure(columns, file)
        known |= self._read(parquet, [one for one in self._schema.fields if one.id in wanted], open_fields)
        if self.problems:
            return None
        if self._spec.fields:
            set_partition(file, self._spec, self._schema, [_value(known[one.field.field_id]) for one in bound])
        return file

    def _unsure(self, columns: ForeignColumns, file: DataFileRef) -> set[int]:
        """The columns that have to be read, for they may have nulls where the table has none."""
        nulls = {one.field_id: one.null_count for one in file.statistics if one.HasField("null_count")}
        ways = [self._schema.ways[one] for one in columns.unsure]
        for [field, *inside] in ways:
            if not inside and nulls.get(field.id):
                self._add(f"{field.name}: {nulls[field.id]} nulls, and the table requires a value")
        return {field.id for [field, *inside] in ways if inside or field.id not in nulls}

    def _read(
        self, parquet: ParquetFile, wanted: Sequence[Field], partitioned: Sequence[BoundField]
    ) -> dict[int, Known | None]:
        """Read columns: `Invalid` for a null in one that is required; answers the partition values of all rows."""
        if not wanted:
            return {}
        form, seen = file_schema(Schema(wanted)), PartitionValues(partitioned)
        for batch in parquet.iter_batches(BATCH_ROWS, columns=[one.physical_name for one in wanted]):
            columns = shaped(batch.columns, batch.schema.names, wanted, form, AS_STORED, batch.num_rows)
            seen.add(pyarrow.Table.from_arrays(columns, schema=form))
        known: dict[int, Known | None] = {}
        for one, values in seen.values():
            if len(values) > 1:
                self._add(f"{one.field.name}: rows of several partitions, such as {values[0]!r} and {values[1]!r}")
            known[one.field.field_id] = (values[0],)
        return known


def _value(known: Known | None) -> Value | None:
    return None if known is None else known[0]


def _unfit(problems: Sequence[str], count: int) -> Invalid:
    return Invalid(
        "the files can't be read as rows of the table",
        subject=f"{count} files" if count > 1 else "",
        expected="Parquet files with the table's columns, by their names in its files and of their types",
        found="; ".join(problems),
        advice="Nothing was added. Change the table or write the files anew, or append(…) their rows.",
    )
