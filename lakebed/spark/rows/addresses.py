"""The positions of rows, out of the executors and into the bitmaps of their files, in bounded memory.

Few come as they are, sixteen bytes each. Of many the executors make bitmaps, 4 kB for each 32,768 rows of a file that
has one of them: however many rows go, the driver gets no more than one bit for each row of the files. How many there
are is not asked before: that would be a scan of its own, or one whose rows are kept.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy
import numpy.typing
import pyarrow
from pyroaring import BitMap64
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.doomed import Doomed
from lakebed.spark.rows.placed_rows import PLACE, POSITION, bare
from lakebed.table.manifest.manifest_pb2 import DataFileRef

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


def doomed(placed: DataFrame, files: Sequence[DataFileRef], most: int) -> Doomed:
    """The rows, `most` of them at most, as rows to be taken away from the files that were read, in their order.

    A row that comes more than once is taken away once. If they are more than `FEW` they are looked for twice.
    """
    few = few_rows(placed.select(PLACE, POSITION), most)
    return _doomed(_as_bitmaps(placed), files) if few is None else doomed_at(few, files)


def doomed_at(places: pyarrow.Table, files: Sequence[DataFileRef]) -> Doomed:
    """The same for places that are here."""
    return _doomed(_as_they_are(places), files)


def taken(rows: Doomed) -> int:
    """How many rows go of files that don't go as a whole."""
    return sum(len(places) for _, places in rows.some)


def _doomed(found: Iterator[tuple[int, BitMap64]], files: Sequence[DataFileRef]) -> Doomed:
    return Doomed((), [(files[ordinal], places) for ordinal, places in found])


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
