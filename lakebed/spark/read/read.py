"""Reads data files as a DataFrame, with Spark's own Parquet reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

import pyarrow
import pyarrow.compute
from pyroaring import FrozenBitMap64
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.catalog.data.deletion_vectors import read_vector
from lakebed.catalog.data.footers import check_footers
from lakebed.catalog.data.row_sources import check_whole
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.spark.fit import quoted
from lakebed.spark.read.constants import constant_column
from lakebed.spark.read.defaults import MissingFields, files_by_missing_fields, with_defaults
from lakebed.spark.read.deleted_rows import without_deleted
from lakebed.spark.read.filter import to_spark
from lakebed.spark.read.metadata_columns import (
    ADDED_COLUMNS,
    ORDINAL_COLUMN,
    Places,
    added_column,
    free_places,
    is_added,
    stored_lineage,
)
from lakebed.spark.read.pushdown import (
    NULL_STRUCTS,
    files_by_pushdown,
    hide_from_pushdown,
    loses_structs,
    unpushable_columns,
)
from lakebed.spark.read.scan import Ordinals, Place, can_join_on_places, check_names, metadata_place, placed_scan, scan
from lakebed.spark.read.source import InlineReader
from lakebed.spark.read.structs import files_by_probes, without_probes
from lakebed.spark.session import check_running
from lakebed.spark.types import check_types, readable_schema, result_schema, scan_schema
from lakebed.spark.variables import scannable_fields
from lakebed.table.filter.filter import Filter, fields_of
from lakebed.table.manifest.file_fields import constant_ids, fields_for_file
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import FILE, selected_columns
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Fields, List, Map, Struct, walk

Vectors = Mapping[str, FrozenBitMap64]
"""Positions of rows, by the paths of their files."""


def read(
    spark: SparkSession,
    files: Files,
    schema: Schema,
    data_files: Sequence[DataFileRef],
    *,
    filter: Filter | None = None,
    columns: Iterable[str] | None = None,
    inline_rows: InlineReader | None = None,
    vectors: Vectors | None = None,
) -> DataFrame:
    """The rows of these files that the filter keeps, in the columns asked for, or all; lazy, no job runs.

    Every file is read: the plan has left out files that can't have a row for the filter. `Corrupt` if a file is
    missing, or its size or footer has changed. Names and types are the table's; all columns are nullable, like all that
    Spark reads. `columns` may name `table.metadata_columns` too, and `ORDINAL`. `inline_rows` reads the inline entries.
    `vectors` are the positions to leave out of the other files, whatever their entries say.
    """
    asked = schema if columns is None else selected_columns(schema, columns, ADDED_COLUMNS)
    _check_session(spark, schema)
    check_types(asked.fields if filter is None else (*asked.fields, *fields_of(filter)))
    inline = [file for file in data_files if is_inline(file)]
    stored = [file for file in data_files if not is_inline(file)]
    frames = [_Reading(spark, files, schema, asked, data_files, filter, vectors).rows(stored)] if stored else []
    if inline_rows is not None and inline:
        table = _inline_table(inline_rows, schema, inline, filter, asked, _ordinals(data_files))
        if table.num_rows:  # PySpark can't make a frame of a nested column without chunks
            frames.append(spark.createDataFrame(table.combine_chunks(), result_schema(asked)))
    return reduce(DataFrame.union, frames) if frames else _empty(spark, asked)


def _ordinals(data_files: Sequence[DataFileRef]) -> dict[str, int]:
    return {file.path: ordinal for ordinal, file in enumerate(data_files)}


def _inline_table(
    inline_rows: InlineReader,
    schema: Schema,
    inline: Sequence[DataFileRef],
    filter: Filter | None,
    asked: Schema,
    ordinals: Ordinals,
) -> pyarrow.Table:
    """Inline rows in the columns asked for; their reader knows paths instead of ordinals."""
    if ORDINAL_COLUMN not in asked.fields:
        return inline_rows(schema, inline, filter, asked.names)
    own = [field.name for field in asked.fields if field != ORDINAL_COLUMN]
    table = inline_rows(schema, inline, filter, own if FILE.name in own else [*own, FILE.name])
    paths = pyarrow.array(ordinals, pyarrow.string())  # in the order of the ordinals
    row_ordinals = pyarrow.compute.index_in(table[FILE.name], paths)
    return table.append_column(ORDINAL_COLUMN.name, row_ordinals).select(asked.names)


@dataclass(frozen=True, slots=True)
class _Form:
    """How the columns of `schema` are in files that are alike: there they are `stored`, and read as `scanned`.

    `scanned` is `stored` with probes. `missing` are fields that the files don't have. No filter on the `unpushable`
    columns is pushed to the files. `constants` are columns that the files don't have, whose values their entries say.
    All three are by id.
    """

    schema: Schema
    stored: Schema
    scanned: Schema
    missing: MissingFields
    unpushable: frozenset[int]
    constants: frozenset[int]


class _Reading:
    """A read of files: the columns asked for, and what the scans need besides."""

    def __init__(
        self,
        spark: SparkSession,
        files: Files,
        schema: Schema,
        asked: Schema,
        data_files: Sequence[DataFileRef],
        filter: Filter | None,
        vectors: Vectors | None,
    ) -> None:
        self._vectors = vectors
        self._spark, self._files, self._asked, self._data_files, self._filter = spark, files, asked, data_files, filter
        self._lineage = stored_lineage(schema, asked)
        self._known = Schema([*readable_schema(schema).fields, *self._lineage])
        self._places = free_places(self._known.fields)
        self._ordinals = _ordinals(data_files)
        self._unpushable = unpushable_columns(spark, self._known)
        self._needed = asked.fields if filter is None else (*asked.fields, *fields_of(filter))
        has_structs = any(isinstance(way[-1].type, Struct) for way in walk(self._needed))
        self._needs_probes = has_structs and loses_structs(spark)

    def rows(self, stored: Sequence[DataFileRef]) -> DataFrame:
        """The rows of the files that are not inline."""
        check_names(stored)
        check_whole(self._files, stored)
        check_footers(self._files, stored)
        frames = []
        for form, alike in self._forms(stored):
            # Apart, so that only files with deleted rows pay for them.
            plain = [file for file in alike if not self._has_deletes(file)]
            with_deletes = [file for file in alike if self._has_deletes(file)]
            frames += [self._plain_rows(plain, form)] if plain else []
            frames += [self._live_rows(with_deletes, form)] if with_deletes else []
        return self._result(reduce(DataFrame.union, frames))

    def _forms(self, data_files: Sequence[DataFileRef]) -> Iterator[tuple[_Form, list[DataFileRef]]]:
        for unpushable, group in files_by_pushdown(self._spark, data_files, self._known):
            for missing, alike in files_by_missing_fields(self._files, self._needed, group).items():
                stored = scannable_fields(self._spark, fields_for_file(alike[0], self._known.fields))
                for scanned, same in self._files_by_probes(stored, alike).items():
                    hidden = self._unpushable | unpushable
                    constants = constant_ids(same[0])
                    yield _Form(self._known, Schema(stored), Schema(scanned), missing, hidden, constants), same

    def _files_by_probes(self, stored: Fields, alike: list[DataFileRef]) -> Mapping[Fields, list[DataFileRef]]:
        if not self._needs_probes:
            return {stored: alike}
        return files_by_probes(self._files, stored, self._needed, alike)

    def _plain_rows(self, data_files: Sequence[DataFileRef], form: _Form) -> DataFrame:
        if any(map(is_added, self._asked.fields)):
            return self._placed_rows(data_files, form)
        if form.constants:
            return self._placed_rows(data_files, form).drop(*_names(self._places))
        return _rows(scan(self._spark, self._files, form.scanned, data_files, self._ordinals), form, self._filter)

    def _live_rows(self, data_files: Sequence[DataFileRef], form: _Form) -> DataFrame:
        """The same for files with deletion vectors, without the deleted rows."""
        shows_places = any(map(is_added, self._asked.fields))
        if can_join_on_places(self._spark) and not shows_places and not form.constants:
            rows = self._plain_rows(data_files, form)
            return self._without_deleted(rows, data_files, metadata_place(rows))
        place = Place(F.col(self._places.ordinal).cast("bigint"), F.col(self._places.position))
        live = self._without_deleted(self._placed_rows(data_files, form), data_files, place)
        return live if shows_places else live.drop(*_names(self._places))

    def _without_deleted(self, rows: DataFrame, data_files: Sequence[DataFileRef], place: Place) -> DataFrame:
        vectors = {self._ordinals[file.path]: self._vector(file) for file in data_files}
        most_rows = max(file.num_rows for file in data_files)
        return without_deleted(self._spark, rows, vectors, most_rows, place)

    def _has_deletes(self, file: DataFileRef) -> bool:
        return file.HasField("dv_path") if self._vectors is None else bool(self._vectors.get(file.path))

    def _vector(self, file: DataFileRef) -> FrozenBitMap64:
        if self._vectors is not None:
            return self._vectors[file.path]
        return read_vector(self._files, file) or FrozenBitMap64()

    def _placed_rows(self, data_files: Sequence[DataFileRef], form: _Form) -> DataFrame:
        rows = placed_scan(self._spark, self._files, form.scanned, data_files, self._ordinals, self._places)
        return _rows(rows, form, self._filter, _names(self._places), self._constants(form))

    def _constants(self, form: _Form) -> Mapping[int, Column]:
        """(id) -> the column, for columns that are constant in each file"""
        ordinal = F.col(self._places.ordinal)
        constant = [field for field in self._known.fields if field.id in form.constants]
        return {field.id: constant_column(field, self._data_files, ordinal) for field in constant}

    def _result(self, rows: DataFrame) -> DataFrame:
        """The columns asked for, from rows with all known columns, and with their places if these are needed."""
        known, asked = self._known.fields, self._asked.fields
        if self._lineage or asked[: len(known)] != known or not all(map(_is_unchanged, known)):
            return rows.select(*map(self._column, asked))
        # Each named column takes calls to the JVM, a tenth of a second for 50: `*` takes one.
        added = [self._column(field) for field in asked[len(known) :]]
        return rows.select("*", *added).drop(*_names(self._places)) if added else rows

    def _column(self, field: Field) -> Column:
        """A column under the table's names instead of physical ones; a cast, by position, renames nested fields."""
        target = result_schema(Schema([field])).fields[0]
        if is_added(field):
            own = F.col(quoted(field.physical_name)) if field in self._lineage else None
            return added_column(field, self._data_files, self._places, own).alias(target.name, metadata={})
        scanned = scan_schema(Schema([field])).fields[0]
        column = F.col(quoted(scanned.name))
        if scanned == target:
            return column
        # Without metadata: a default for older files must not reach tables that these rows are written to.
        # Spark 4.0 ignores an alias with empty metadata, so such a column is cast, which drops its metadata.
        is_same = scanned.dataType == target.dataType and not scanned.metadata
        renamed = column if is_same else column.cast(target.dataType)
        return renamed.alias(target.name, metadata={})


def _is_unchanged(field: Field) -> bool:
    """Whether a column of a scan has just the name and the type that a read shows."""
    return scan_schema(Schema([field])) == result_schema(Schema([field]))


def _names(places: Places) -> tuple[str, str]:
    return places.ordinal, places.position


def _rows(
    rows: DataFrame,
    form: _Form,
    filter: Filter | None,
    others: Sequence[str] = (),
    constants: Mapping[int, Column] = MappingProxyType({}),
) -> DataFrame:
    """The rows that the filter keeps, with the defaults of missing fields, under the physical names.

    `others` are columns of the scan that stay; `constants` are those that the files don't have.
    """
    fields = form.schema.fields
    if form.missing or form.stored != form.schema or form.unpushable or constants:
        columns = [
            constants.get(field.id, _table_column(form, scanned, stored, field)).alias(field.physical_name)
            for scanned, stored, field in zip(form.scanned.fields, form.stored.fields, fields, strict=True)
        ]
        rows = rows.select(*columns, *map(quoted, others))
    return rows if filter is None else rows.where(to_spark(filter, lambda field: field.physical_name))


def _table_column(form: _Form, scanned: Field, stored: Field, field: Field) -> Column:
    """A scanned column as the table has it; a cast, by position, gives it the table's physical names inside."""
    column = with_defaults(without_probes(scanned), stored, form.missing)
    if stored.type != field.type:
        column = column.cast(scan_schema(Schema([field])).fields[0].dataType)
    return hide_from_pushdown(column) if field.id in form.unpushable else column


def _empty(spark: SparkSession, schema: Schema) -> DataFrame:
    fields = result_schema(schema).fields
    return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))


def _check_session(spark: SparkSession, schema: Schema) -> None:
    if not (hasattr(spark, "read") and hasattr(spark, "conf")):
        raise Invalid(
            "this is not a Spark session",
            expected="what lakebed.spark.session(lake) returns",
            found=type(spark).__name__,
            advice="scan(…) reads without Spark.",
        )
    check_running(spark)
    # No option of a read overrides it; the default is false.
    nested = any(isinstance(field.type, Struct | List | Map) for field in schema.fields)
    if nested and spark.conf.get(NULL_STRUCTS, "false") == "true":
        raise Invalid(
            "this session shows a struct as null if a file is older than the fields that are read",
            subject=NULL_STRUCTS,
            expected="false",
            found="true",
            advice=f'Run `spark.conf.set("{NULL_STRUCTS}", "false")`.',
        )
