"""Leaving deleted rows out: an anti join with the vectors, which are broadcast as bits.

    key = ordinal of the file ‖ position without its last 16 bits -> up to 1,024 words, bit 0 of the first one first

Spark's reader tells a row's position in its file under `_metadata`. The ordinal travels as the file's time of change in
the list of files that Lakebed writes, which costs least (a join by path takes 1.4 × the time of one by a number).
"""

from collections.abc import Iterator, Sequence

import numpy
import numpy.typing
import pyarrow
from pyroaring import FrozenBitMap64
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

CHUNK_BITS = 16
_WORDS = "words"


def with_places(rows: DataFrame, ordinal: Column, key: str, bit: str) -> DataFrame:
    """The rows of a scan with the key of the words that tell of them, and their bit in these."""
    position = F.col("_metadata.row_index")
    chunk = F.shiftright(position, CHUNK_BITS)
    return rows.select(
        "*",
        # An ordinal has all bits that a chunk leaves: a file of 2⁴⁷ rows has 2³¹ chunks.
        (F.shiftleft(ordinal.cast("bigint"), 32) + chunk).alias(key),
        position.bitwiseAND(F.lit((1 << CHUNK_BITS) - 1)).cast("int").alias(bit),
    )


def listed_ordinal() -> Column:
    """The ordinal of a file that came by a list."""
    return F.unix_millis(F.col("_metadata.file_modification_time"))


def without_deleted(
    spark: SparkSession, rows: DataFrame, vectors: Sequence[FrozenBitMap64], key: str, bit: str
) -> DataFrame:
    """Rows with places, without those that the vectors of their files, in the order of the ordinals, have."""
    deleted = F.broadcast(spark.createDataFrame(_bits(vectors))).alias("deleted")
    place = F.col(f"row.`{bit}`")
    word = F.get(F.col("deleted.words"), F.shiftright(place, 6))  # null behind the last, which keeps the row
    is_deleted = F.getbit(word, place.bitwiseAND(F.lit(63))) == 1
    return rows.alias("row").join(deleted, (F.col(f"row.`{key}`") == F.col("deleted.key")) & is_deleted, "left_anti")


def _bits(vectors: Sequence[FrozenBitMap64]) -> pyarrow.Table:
    found = [
        ((ordinal << 32) + chunk, words) for ordinal, vector in enumerate(vectors) for chunk, words in _chunks(vector)
    ]
    keys = pyarrow.array([key for key, _ in found], pyarrow.int64())
    words = pyarrow.array([words for _, words in found], pyarrow.list_(pyarrow.int64()))
    return pyarrow.table({"key": keys, "words": words})


def _chunks(vector: FrozenBitMap64) -> Iterator[tuple[int, numpy.typing.NDArray[numpy.int64]]]:
    """The chunks of a vector that have a position, each with its words up to the last that has one."""
    positions = numpy.frombuffer(vector.to_array(), numpy.uint64).astype(numpy.int64)
    chunks, starts = numpy.unique(positions >> CHUNK_BITS, return_index=True)
    for chunk, part in zip(chunks.tolist(), numpy.split(positions, starts[1:]), strict=False):
        inside = (part & ((1 << CHUNK_BITS) - 1)).astype(numpy.uint64)
        words = numpy.zeros(int(inside[-1] >> numpy.uint64(6)) + 1, numpy.uint64)
        numpy.bitwise_or.at(words, inside >> numpy.uint64(6), numpy.uint64(1) << (inside & numpy.uint64(63)))
        yield chunk, words.view(numpy.int64)
