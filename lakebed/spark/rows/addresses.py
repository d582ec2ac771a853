"""The positions of rows, out of the executors and into the bitmaps of their files, in bounded memory.

Few come as they are, sixteen bytes each. Of many the executors make bitmaps, 4 kB for each 32,768 rows of a file that
has one of them: however many rows go, the driver gets no more than one bit for each row of the files. How many there
are is not asked before: that would be a scan of its own, or one whose rows are kept.
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

# By names that nobody's SQL meets by accident.
PLACE: Final = quoted(ORDINAL)
POSITION: Final = quoted(f"{OWN_PREFIX}position")
ID: Final = quoted(f"{OWN_PREFIX}row")
NUMBER: Final = quoted(f"{OWN_PREFIX}source")
"""The number of a source's row: each row has its own."""


def placed_rows(
    source: Source,
    schema: Schema,
    files: Sequence[DataFileRef],
    filter: Filter | None,
    columns: Sequence[str],
    *,
    with_ids: bool = True,
) -> DataFrame:
    """The rows of the files that pass, in some of the table's columns, `PLACE`, `POSITION`, and `ID` unless not."""
    check_unreserved(schema.names)
    expect_files(files)
    asked = [*columns, ORDINAL, POSITION_FIELD.name, *([ROW_ID.name] if with_ids else ())]
    rows = read(source.spark, source.files, schema, files, filter=filter, columns=asked, inline_rows=source.inline_rows)
    return rows.withColumnsRenamed({POSITION_FIELD.name: bare(POSITION), ROW_ID.name: bare(ID)})


def check_unreserved(names: Iterable[str]) -> None:
    """Refuse columns whose names are Lakebed's own here: an older table's, or those of rows that somebody gives."""
    for one in names:
        if folded_column(one).startswith(OWN_PREFIX):
            advice = "Rename the column."
            raise Invalid(
                "a column has a name that Lakebed needs for itself", subject=one, found=OWN_PREFIX, advice=advice
            )


def bare(name: str) -> str:
    """A quoted name without its quotes."""
    return name[1:-1].replace("``", "`")


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows, calculated once and kept by the executors, in memory or on their disks, until the end of the `with`."""
    kept = rows.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def without_id() -> Column:
    """The id of a row that is new."""
    return F.lit(None).cast(LongType()).alias(ROW_ID.name)


FEW: Final = 1 << 20
"""So many rows come as they are; of positions that is 16 MB.

Of 200,000 in 20M rows that takes a third of the time of bitmaps.
"""

BITS: Final = 1 << 15  # of each of Spark's bitmaps

_Numbers = numpy.typing.NDArray[numpy.int64]


def few_rows(rows: DataFrame, most: int | None = None) -> pyarrow.Table | None:
    """The rows in this process, None if they are more than `FEW`; `most` is how many there may be, if that is known."""
    if most is not None and most <= FEW:
        return rows.toArrow()
    found = rows.limit(FEW + 1).toArrow()
    return found if found.num_rows <= FEW else None


def deletion(placed: DataFrame, files: Sequence[DataFileRef], most: int) -> Deletion:
    """The rows, `most` of them at most, as rows to be taken away from the files that were read, in their order.

    A row that comes more than once is taken away once. If they are more than `FEW` they are looked for twice.
    """
    few = few_rows(placed.select(PLACE, POSITION), most)
    return _deletion(_as_bitmaps(placed), files) if few is None else deletion_at(few, files)


def deletion_at(places: pyarrow.Table, files: Sequence[DataFileRef]) -> Deletion:
    """The same for places that are here."""
    return _deletion(_as_they_are(places), files)


def taken(rows: Deletion) -> int:
    """How many rows go of files that don't go as a whole."""
    return sum(len(places) for _, places in rows.some)


def _deletion(found: Iterator[tuple[int, BitMap64]], files: Sequence[DataFileRef]) -> Deletion:
    return Deletion((), [(files[ordinal], places) for ordinal, places in found])


def _as_they_are(table: pyarrow.Table) -> Iterator[tuple[int, BitMap64]]:
    ordinals, positions = _numbers(table.column(bare(PLACE))), _numbers(table.column(bare(POSITION)))
    order = numpy.argsort(ordinals, kind="stable")
    for ordinal, part in _by_ordinal(ordinals[order], positions[order]):
        yield ordinal, BitMap64(part.astype(numpy.uint64))


def _as_bitmaps(placed: DataFrame) -> Iterator[tuple[int, BitMap64]]:
    number = F.col(POSITION) + 1  # Spark's functions count from one
    bits = placed.groupBy(F.col(PLACE).alias("ordinal"), F.bitmap_bucket_number(number).alias("bucket")).agg(
        F.bitmap_construct_agg(F.bitmap_bit_position(number)).alias("bits")
    )
    table = bits.orderBy("ordinal").toArrow()
    ordinals, buckets = _numbers(table.column("ordinal")), _numbers(table.column("bucket"))
    places = numpy.arange(len(ordinals))
    for ordinal, part in _by_ordinal(ordinals, places):
        found = BitMap64()
        for place in part.tolist():
            found |= _bitmap(table.column("bits")[place].as_py(), int(buckets[place]))
        yield ordinal, found


def _bitmap(bits: bytes, bucket: int) -> BitMap64:
    inside = numpy.flatnonzero(numpy.unpackbits(numpy.frombuffer(bits, numpy.uint8), bitorder="little"))
    return BitMap64((inside + (bucket - 1) * BITS).astype(numpy.uint64))


def _by_ordinal(ordinals: _Numbers, values: _Numbers) -> Iterator[tuple[int, _Numbers]]:
    """The values of each ordinal, which are in order."""
    every, starts = numpy.unique(ordinals, return_index=True)
    yield from zip(every.tolist(), numpy.split(values, starts[1:]), strict=False)


def _numbers(column: pyarrow.ChunkedArray) -> _Numbers:
    found: _Numbers = column.to_numpy().astype(numpy.int64)
    return found


CLAUSE: Final = quoted("lakebed.clause")
"""The number of the clause that is for a row."""

_PAIRED = "paired"

Counts = Mapping[tuple[int | None, bool], int]
"""How many rows there are by the number of their clause, and whether they are in a pair."""


class PairPlaces:
    """The places of pairs, and of rows that a clause is for though they match none: few are held here.

    To make it reads the table. The pairs are looked at again if they are many: they should be kept.
    """

    def __init__(self, pairs: DataFrame, files: Sequence[DataFileRef]) -> None:
        is_pair = F.col(NUMBER).isNotNull().alias(_PAIRED)
        self._every = pairs.select(PLACE, POSITION, CLAUSE, is_pair)
        self._files = files
        self._few = few_rows(self._every) if files else None
        self.counts: Counts = self._counted() if files else {}

    def of_pairs(self) -> Deletion:
        """The rows that are in pairs."""
        few = self._few
        return self._deletion(F.col(_PAIRED), None if few is None else few[_PAIRED])

    def of_clauses(self) -> Deletion:
        """The rows that a clause is for."""
        few = self._few
        return self._deletion(F.col(CLAUSE).isNotNull(), None if few is None else compute.is_valid(few[bare(CLAUSE)]))

    def _deletion(self, chosen: Column, here: pyarrow.ChunkedArray | None) -> Deletion:
        if self._few is None or here is None:
            return deletion(self._every.where(chosen), self._files, sum(self.counts.values()))
        return deletion_at(self._few.filter(here), self._files)

    def _counted(self) -> Counts:
        if self._few is None:
            found = self._every.groupBy(CLAUSE, _PAIRED).count().collect()
            return {(one[0], one[1]): one[2] for one in found}
        names = [bare(CLAUSE), _PAIRED]
        counted = self._few.group_by(names).aggregate([([], "count_all")])
        return {(one[names[0]], one[_PAIRED]): one["count_all"] for one in counted.to_pylist()}
