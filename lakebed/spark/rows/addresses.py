"""Addresses of rows: a row's file, by its ordinal, and its position there; read with rows, and made into deletions.

Positions come from the executors into the bitmaps of their files in bounded memory. Few come as they are, at 16 bytes
each. For many, the executors build bitmaps of 4 kB for each 32,768 rows of a file that has one of them: the driver gets
at most one bit for each row of the files. Nothing counts them first: that would take a scan of its own, or one whose
rows are kept.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy
import numpy.typing
import pyarrow
import pyarrow.compute as compute
from pyroaring import BitMap64
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from lakebed.catalog.data.row_changes import Deletion
from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.jobs.run import expect_files
from lakebed.spark.read.read import read
from lakebed.spark.read.source import ORDINAL, Source
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import OWN_PREFIX, ROW_ID
from lakebed.table.schema.metadata_columns import POSITION as POSITION_FIELD
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

# Columns of rows that are being changed, quoted, under names that a caller's SQL does not use by accident.
FILE_ORDINAL: Final = quoted(ORDINAL)
POSITION: Final = quoted(f"{OWN_PREFIX}position")
ID: Final = quoted(f"{OWN_PREFIX}row")
NUMBER: Final = quoted(f"{OWN_PREFIX}source")
"""The number of a row in the source."""
CLAUSE: Final = quoted("lakebed.clause")
"""The number of the clause of a merge that applies to a row."""
_PAIRED = "paired"

FEW: Final = 1 << 20
"""At most this many rows come to the driver as they are; their positions take 16 MB.

For 200,000 of 20M rows that takes a third of the time of bitmaps.
"""

BITS: Final = 1 << 15  # of each of Spark's bitmaps

Counts = Mapping[tuple[int | None, bool], int]
"""The number of rows by their clause's number, and by whether they are in a pair."""

_Numbers = numpy.typing.NDArray[numpy.int64]


def placed_rows(
    source: Source,
    schema: Schema,
    files: Sequence[DataFileRef],
    filter: Filter | None,
    columns: Sequence[str],
    *,
    with_ids: bool = True,
    metadata: Sequence[str] = (),
) -> DataFrame:
    """The rows of the files that pass, with some of the table's columns, `FILE_ORDINAL`, `POSITION` and maybe `ID`.

    `metadata` are names of metadata columns that are there too, unless the table has columns of these names.
    """
    check_unreserved(schema.names)
    expect_files(files)
    asked = [*columns, ORDINAL, POSITION_FIELD.name, *([ROW_ID.name] if with_ids else ())]
    added = [name for name in metadata if name not in {folded_column(own) for own in schema.names}]
    if added:
        return _with_metadata(placed_rows(source, schema, files, filter, [*columns, *_not_placed(added)]), added)
    rows = read(source.spark, source.files, schema, files, filter=filter, columns=asked, inline_rows=source.inline_rows)
    return rows.withColumnsRenamed({POSITION_FIELD.name: bare(POSITION), ROW_ID.name: bare(ID)})


def _not_placed(names: Iterable[str]) -> list[str]:
    """The metadata columns that are not read in any case."""
    return [name for name in names if name not in (POSITION_FIELD.name, ROW_ID.name)]


def _with_metadata(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    known = {POSITION_FIELD.name: POSITION, ROW_ID.name: ID}
    return rows.withColumns({name: F.col(known[name]) for name in names if name in known})


def check_unreserved(names: Iterable[str]) -> None:
    """Refuse columns, of an older table or of a caller's rows, whose names Lakebed needs here."""
    for name in names:
        if folded_column(name).startswith(OWN_PREFIX):
            advice = "Rename the column."
            raise Invalid(
                "a column has a name that Lakebed needs for itself", subject=name, found=OWN_PREFIX, advice=advice
            )


def bare(name: str) -> str:
    """A quoted name without its quotes."""
    return name[1:-1].replace("``", "`")


def without_id() -> Column:
    """The id of a new row: none."""
    return F.lit(None).cast(LongType()).alias(ROW_ID.name)


@contextmanager
def persisted(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows, computed once, which executors keep in memory or on disk until the end of the `with`."""
    cached = rows.persist()
    try:
        yield cached
    finally:
        cached.unpersist()


def few_rows(rows: DataFrame, most: int | None = None) -> pyarrow.Table | None:
    """The rows in this process, None if there are more than `FEW`; `most` is an upper limit, if one is known."""
    if most is not None and most <= FEW:
        return rows.toArrow()
    found = rows.limit(FEW + 1).toArrow()
    return found if found.num_rows <= FEW else None


def deletion(placed: DataFrame, files: Sequence[DataFileRef], most: int) -> Deletion:
    """The deletion of the rows, at most `most`, from the files that were read, in the order of their ordinals.

    A row that comes twice is deleted once. More rows than `FEW` are computed twice.
    """
    few = few_rows(placed.select(FILE_ORDINAL, POSITION), most)
    return _deletion(_executors_bitmaps(placed), files) if few is None else deletion_at(few, files)


def deletion_at(places: pyarrow.Table, files: Sequence[DataFileRef]) -> Deletion:
    """The same for addresses that are in this process."""
    return _deletion(_bitmaps(places), files)


def position_count(rows: Deletion) -> int:
    """How many rows are deleted from files that are not deleted as a whole."""
    return sum(len(positions) for _, positions in rows.some)


class PairPlaces:
    """The addresses of a merge's pairs, and of rows that a clause applies to without a match; few are held here.

    Creating it reads the table. If there are many pairs, they are computed again: persist them.
    """

    def __init__(self, pairs: DataFrame, files: Sequence[DataFileRef]) -> None:
        is_pair = F.col(NUMBER).isNotNull().alias(_PAIRED)
        self._all = pairs.select(FILE_ORDINAL, POSITION, CLAUSE, is_pair)
        self._files = files
        self._few = few_rows(self._all) if files else None
        self.counts: Counts = self._count() if files else {}

    def of_pairs(self) -> Deletion:
        """The rows that are in pairs."""
        few = self._few
        return self._deletion(F.col(_PAIRED), None if few is None else few[_PAIRED])

    def of_clauses(self) -> Deletion:
        """The rows that a clause applies to."""
        few = self._few
        return self._deletion(F.col(CLAUSE).isNotNull(), None if few is None else compute.is_valid(few[bare(CLAUSE)]))

    def _deletion(self, chosen: Column, chosen_here: pyarrow.ChunkedArray | None) -> Deletion:
        if self._few is None or chosen_here is None:
            return deletion(self._all.where(chosen), self._files, sum(self.counts.values()))
        return deletion_at(self._few.filter(chosen_here), self._files)

    def _count(self) -> Counts:
        if self._few is None:
            found = self._all.groupBy(CLAUSE, _PAIRED).count().collect()
            return {(row[0], row[1]): row[2] for row in found}
        names = [bare(CLAUSE), _PAIRED]
        counted = self._few.group_by(names).aggregate([([], "count_all")])
        return {(row[names[0]], row[_PAIRED]): row["count_all"] for row in counted.to_pylist()}


def _deletion(bitmaps: Iterator[tuple[int, BitMap64]], files: Sequence[DataFileRef]) -> Deletion:
    return Deletion((), [(files[ordinal], positions) for ordinal, positions in bitmaps])


def _bitmaps(places: pyarrow.Table) -> Iterator[tuple[int, BitMap64]]:
    """The positions by the ordinals of their files, from addresses in this process."""
    ordinals, positions = _numbers(places.column(bare(FILE_ORDINAL))), _numbers(places.column(bare(POSITION)))
    order = numpy.argsort(ordinals, kind="stable")
    for ordinal, part in _by_ordinal(ordinals[order], positions[order]):
        yield ordinal, BitMap64(part.astype(numpy.uint64))


def _executors_bitmaps(placed: DataFrame) -> Iterator[tuple[int, BitMap64]]:
    """The same from bitmaps that the executors build."""
    number = F.col(POSITION) + 1  # Spark's functions count from one
    bits = placed.groupBy(F.col(FILE_ORDINAL).alias("ordinal"), F.bitmap_bucket_number(number).alias("bucket")).agg(
        F.bitmap_construct_agg(F.bitmap_bit_position(number)).alias("bits")
    )
    table = bits.orderBy("ordinal").toArrow()
    ordinals, buckets = _numbers(table.column("ordinal")), _numbers(table.column("bucket"))
    rows = numpy.arange(len(ordinals))
    for ordinal, part in _by_ordinal(ordinals, rows):
        bitmap = BitMap64()
        for row in part.tolist():
            bitmap |= _bitmap(table.column("bits")[row].as_py(), int(buckets[row]))
        yield ordinal, bitmap


def _bitmap(bits: bytes, bucket: int) -> BitMap64:
    inside = numpy.flatnonzero(numpy.unpackbits(numpy.frombuffer(bits, numpy.uint8), bitorder="little"))
    return BitMap64((inside + (bucket - 1) * BITS).astype(numpy.uint64))


def _by_ordinal(ordinals: _Numbers, values: _Numbers) -> Iterator[tuple[int, _Numbers]]:
    """The values of each ordinal; the ordinals are sorted."""
    distinct, starts = numpy.unique(ordinals, return_index=True)
    yield from zip(distinct.tolist(), numpy.split(values, starts[1:]), strict=False)


def _numbers(column: pyarrow.ChunkedArray) -> _Numbers:
    found: _Numbers = column.to_numpy().astype(numpy.int64)
    return found
