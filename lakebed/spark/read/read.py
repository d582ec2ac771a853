"""Reading data files as a DataFrame, with Spark's own Parquet reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow
import pyarrow.compute
from pyroaring import FrozenBitMap64
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.catalog.data.deletion_vectors import read_vector
from lakebed.catalog.data.row_sources import check_whole
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.spark.fit import quoted
from lakebed.spark.read.defaults import Absent, by_absent, filled
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
from lakebed.spark.read.pushdown import NULL_STRUCTS, alike_files, behind, hidden_columns, loses_structs
from lakebed.spark.read.scan import Ordinals, Place, check_names, placed_scan, scan, tells_places, told_place
from lakebed.spark.read.source import InlineReader
from lakebed.spark.read.structs import by_witnesses, without_witnesses
from lakebed.spark.session import check_running
from lakebed.spark.types import check_types, readable, result_schema, scan_schema
from lakebed.table.filter.filter import Filter, fields_of
from lakebed.table.manifest.file_fields import fields_for_file
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import FILE, selected_columns
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Fields, List, Map, Struct, walk


def read(
    spark: SparkSession,
    files: Files,
    schema: Schema,
    data_files: Sequence[DataFileRef],
    *,
    filter: Filter | None = None,
    columns: Iterable[str] | None = None,
    inline_rows: InlineReader | None = None,
) -> DataFrame:
    """The rows of these files that the filter keeps, in the columns asked for, or all; lazy, no job runs.

    Files that the filter can't match are left out by their statistics. `Corrupt` if one of the others is missing or of
    another size than it was. Names and types are the table's; all columns are nullable, as in all that Spark reads.
    `columns` may name those of `table.metadata_columns` too, and `ORDINAL`. `inline_rows` reads the
    entries that are inline. Every file is read: whoever plans has left out those that can't have a row for the filter.
    """
    asked = schema if columns is None else selected_columns(schema, columns, ADDED_COLUMNS)
    _check_session(spark, schema)
    check_types(asked.fields if filter is None else (*asked.fields, *fields_of(filter)))
    inline = [one for one in data_files if is_inline(one)]
    kept = [one for one in data_files if not is_inline(one)]
    frames = [_Reading(spark, files, schema, asked, data_files, filter).rows(kept)] if kept else []
    if inline_rows is not None and inline:
        found = _inline_table(inline_rows, schema, inline, filter, asked, _ordinals(data_files))
        if found.num_rows:  # PySpark can't make a frame of a nested column without chunks
            frames.append(spark.createDataFrame(found.combine_chunks(), result_schema(asked)))
    return reduce(DataFrame.union, frames) if frames else _empty(spark, asked)


def _ordinals(data_files: Sequence[DataFileRef]) -> dict[str, int]:
    return {one.path: ordinal for ordinal, one in enumerate(data_files)}


def _inline_table(
    inline_rows: InlineReader,
    schema: Schema,
    inline: Sequence[DataFileRef],
    filter: Filter | None,
    asked: Schema,
    ordinals: Ordinals,
) -> pyarrow.Table:
    """Inline rows in the columns asked for; whoever reads them knows of no ordinals, but of paths."""
    if ORDINAL_COLUMN not in asked.fields:
        return inline_rows(schema, inline, filter, asked.names)
    own = [one.name for one in asked.fields if one != ORDINAL_COLUMN]
    found = inline_rows(schema, inline, filter, own if FILE.name in own else [*own, FILE.name])
    paths = pyarrow.array(ordinals, pyarrow.string())  # in the order of the ordinals
    return found.append_column(ORDINAL_COLUMN.name, pyarrow.compute.index_in(found[FILE.name], paths)).select(
        asked.names
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """Of files that are alike: the columns, the same as they are to be looked for there, and which fields they lack.

    `asked` is `found` with witnesses. Nothing that is asked of the `hidden` columns, by their ids, is pushed to the
    files.
    """

    schema: Schema
    found: Schema
    asked: Schema
    absent: Absent
    hidden: frozenset[int]


class _Reading:
    """A read of files: what is asked for of which, and what the scans need besides."""

    def __init__(
        self,
        spark: SparkSession,
        files: Files,
        schema: Schema,
        asked: Schema,
        data_files: Sequence[DataFileRef],
        filter: Filter | None,
    ) -> None:
        self._spark, self._files, self._asked, self._data_files, self._filter = spark, files, asked, data_files, filter
        self._lineage = stored_lineage(schema, asked)
        self._known = Schema([*readable(schema).fields, *self._lineage])
        self._places = free_places(self._known.fields)
        self._ordinals = _ordinals(data_files)
        self._hidden = hidden_columns(spark, self._known)
        self._needed = asked.fields if filter is None else (*asked.fields, *fields_of(filter))
        has_structs = any(isinstance(way[-1].type, Struct) for way in walk(self._needed))
        self._needs_witnesses = has_structs and loses_structs(spark)

    def rows(self, kept: Sequence[DataFileRef]) -> DataFrame:
        """The rows of those of the files that are kept."""
        check_names(kept)
        check_whole(self._files, kept)
        frames = []
        for form, alike in self._forms(kept):
            # Apart, so that only files with deleted rows pay for them.
            plain = [one for one in alike if not one.HasField("dv_path")]
            deleted = [one for one in alike if one.HasField("dv_path")]
            frames += [self._plain_rows(plain, form)] if plain else []
            frames += [self._live_rows(deleted, form)] if deleted else []
        return self._shown(reduce(DataFrame.union, frames))

    def _forms(self, kept: Sequence[DataFileRef]) -> Iterator[tuple[_Form, list[DataFileRef]]]:
        for hidden, told in alike_files(self._spark, kept, self._known):
            for absent, alike in by_absent(self._files, self._needed, told).items():
                found = fields_for_file(alike[0], self._known.fields)
                for asked, same in self._by_witnesses(found, alike).items():
                    yield _Form(self._known, Schema(found), Schema(asked), absent, self._hidden | hidden), same

    def _by_witnesses(self, found: Fields, alike: list[DataFileRef]) -> Mapping[Fields, list[DataFileRef]]:
        if not self._needs_witnesses:
            return {found: alike}
        return by_witnesses(self._files, found, self._needed, alike)

    def _plain_rows(self, data_files: Sequence[DataFileRef], form: _Form) -> DataFrame:
        if any(map(is_added, self._asked.fields)):
            return self._placed_rows(data_files, form)
        return _rows(scan(self._spark, self._files, form.asked, data_files, self._ordinals), form, self._filter)

    def _live_rows(self, data_files: Sequence[DataFileRef], form: _Form) -> DataFrame:
        """The same of files with vectors of deletes."""
        shows_places = any(map(is_added, self._asked.fields))
        if tells_places(self._spark) and not shows_places:
            rows = self._plain_rows(data_files, form)
            return self._without_deleted(rows, data_files, told_place(rows))
        place = Place(F.col(self._places.ordinal).cast("bigint"), F.col(self._places.position))
        live = self._without_deleted(self._placed_rows(data_files, form), data_files, place)
        return live if shows_places else live.drop(*_names(self._places))

    def _without_deleted(self, rows: DataFrame, data_files: Sequence[DataFileRef], place: Place) -> DataFrame:
        vectors = {self._ordinals[one.path]: read_vector(self._files, one) or FrozenBitMap64() for one in data_files}
        most_rows = max(one.num_rows for one in data_files)
        return without_deleted(self._spark, rows, vectors, most_rows, place)

    def _placed_rows(self, data_files: Sequence[DataFileRef], form: _Form) -> DataFrame:
        rows = placed_scan(self._spark, self._files, form.asked, data_files, self._ordinals, self._places)
        return _rows(rows, form, self._filter, _names(self._places))

    def _shown(self, rows: DataFrame) -> DataFrame:
        """The columns asked for, of rows with all that are known, and with their places if any is asked for."""
        known, asked = self._known.fields, self._asked.fields
        if self._lineage or asked[: len(known)] != known or not all(map(_is_shown_as_it_is, known)):
            return rows.select(*map(self._column, asked))
        # Each column that is named takes calls to the JVM, a tenth of a second for 50: `*` takes one.
        added = [self._column(one) for one in asked[len(known) :]]
        return rows.select("*", *added).drop(*_names(self._places)) if added else rows

    def _column(self, field: Field) -> Column:
        """A column from physical names to the table's; nested names change by a cast, which goes by position."""
        target = result_schema(Schema([field])).fields[0]
        if is_added(field):
            own = F.col(quoted(field.physical_name)) if field in self._lineage else None
            return added_column(field, self._data_files, self._places, own).alias(target.name, metadata={})
        there = scan_schema(Schema([field])).fields[0]
        column = F.col(quoted(there.name))
        if there == target:
            return column
        # Without metadata: a default that is for older files is nothing for whoever writes these rows elsewhere.
        # Spark 4.0 overlooks metadata that is empty, so such a column has a cast, which has none.
        is_same = there.dataType == target.dataType and not there.metadata
        shown = column if is_same else column.cast(target.dataType)
        return shown.alias(target.name, metadata={})


def _is_shown_as_it_is(field: Field) -> bool:
    """Whether a column of a scan has the name and the type that a read shows, and nothing besides."""
    return scan_schema(Schema([field])) == result_schema(Schema([field]))


def _names(places: Places) -> tuple[str, str]:
    return places.ordinal, places.position


def _rows(rows: DataFrame, form: _Form, filter: Filter | None, others: Sequence[str] = ()) -> DataFrame:
    """The rows that the filter keeps, with the defaults of what their files lack, under the physical names.

    `others` are columns of the scan that stay with them.
    """
    fields = form.schema.fields
    if form.absent or form.found != form.schema or form.hidden:
        columns = [
            _behind(_named(filled(without_witnesses(asked), there, form.absent), there, one), one, form.hidden)
            for asked, there, one in zip(form.asked.fields, form.found.fields, fields, strict=True)
        ]
        rows = rows.select(
            *(column.alias(one.physical_name) for column, one in zip(columns, fields, strict=True)),
            *map(quoted, others),
        )
    return rows if filter is None else rows.where(to_spark(filter, lambda one: one.physical_name))


def _named(column: Column, found: Field, field: Field) -> Column:
    """A column with the names inside it that it has elsewhere, which a cast gives by their places."""
    return column if found.type == field.type else column.cast(scan_schema(Schema([field])).fields[0].dataType)


def _behind(column: Column, field: Field, hidden: frozenset[int]) -> Column:
    """The column, behind what keeps filters from the files if it is hidden."""
    return behind(column) if field.id in hidden else column


def _empty(spark: SparkSession, schema: Schema) -> DataFrame:
    fields = result_schema(schema).fields
    return spark.range(0).select(*(F.lit(None).cast(one.dataType).alias(one.name) for one in fields))


def _check_session(spark: SparkSession, schema: Schema) -> None:
    if not (hasattr(spark, "read") and hasattr(spark, "conf")):
        raise Invalid(
            "this is not a Spark session",
            expected="what lakebed.spark.session(lake) answers",
            found=type(spark).__name__,
            advice="scan(…) reads without Spark.",
        )
    check_running(spark)
    # No option of a read goes before it; false unless somebody changes it.
    nested = any(isinstance(one.type, Struct | List | Map) for one in schema.fields)
    if nested and spark.conf.get(NULL_STRUCTS, "false") == "true":
        raise Invalid(
            "this session shows a struct as null if a file is older than the fields that are asked for",
            subject=NULL_STRUCTS,
            expected="false",
            found="true",
            advice=f'Run `spark.conf.set("{NULL_STRUCTS}", "false")`.',
        )
