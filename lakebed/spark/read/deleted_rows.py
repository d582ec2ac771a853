"""Leaving deleted rows out: an anti join with the vectors, which are broadcast as bits.

    key = ordinal of the file ‖ position without its last 16 bits -> up to 1,024 words, bit 0 of the first one first

Keys have no more bits than are needed: of those that lie close together Spark makes an array instead of a hash table
(`sum` of an int over 10M rows: 0.44 s instead of 0.52 s, with no columns for the places; 0.17 s without deletes).
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy
import numpy.typing
import pyarrow
from pyroaring import FrozenBitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.spark.read.scan import Place

CHUNK_BITS: Final = 16
_WORDS = pyarrow.list_(pyarrow.field("element", pyarrow.int64(), nullable=False))  # which Spark need not look at


def without_deleted(
    spark: SparkSession, rows: DataFrame, vectors: Mapping[int, FrozenBitMap64], most_rows: int, place: Place
) -> DataFrame:
    """The rows without those that the vectors of their files have, by the ordinals; `place` is that of each row.

    `most_rows` is how many the largest of the files has: of a position behind it the key would be another file's.
    """
    shift = (most_rows >> CHUNK_BITS).bit_length()
    deleted = F.broadcast(spark.createDataFrame(_bits(vectors, shift))).alias("deleted")
    key = F.shiftleft(place.ordinal, shift).bitwiseOR(F.shiftright(place.position, CHUNK_BITS))
    bit = place.position.bitwiseAND(F.lit((1 << CHUNK_BITS) - 1)).cast("int")
    word = F.get(F.col("deleted.words"), F.shiftright(bit, 6))  # null behind the last, which keeps the row
    is_deleted = F.getbit(word, bit.bitwiseAND(F.lit(63))) == 1
    return rows.join(deleted, (key == F.col("deleted.key")) & is_deleted, "left_anti")


def _bits(vectors: Mapping[int, FrozenBitMap64], shift: int) -> pyarrow.Table:
    found = [
        ((ordinal << shift) | chunk, words) for ordinal, vector in vectors.items() for chunk, words in _chunks(vector)
    ]
    keys = pyarrow.array([key for key, _ in found], pyarrow.int64())
    return pyarrow.table({"key": keys, "words": pyarrow.array([words for _, words in found], _WORDS)})


def _chunks(vector: FrozenBitMap64) -> Iterator[tuple[int, numpy.typing.NDArray[numpy.int64]]]:
    """The chunks of a vector that have a position, each with its words up to the last that has one."""
    positions = numpy.frombuffer(vector.to_array(), numpy.uint64).astype(numpy.int64)
    chunks, starts = numpy.unique(positions >> CHUNK_BITS, return_index=True)
    for chunk, part in zip(chunks.tolist(), numpy.split(positions, starts[1:]), strict=False):
        inside = (part & ((1 << CHUNK_BITS) - 1)).astype(numpy.uint64)
        words = numpy.zeros(int(inside[-1] >> numpy.uint64(6)) + 1, numpy.uint64)
        numpy.bitwise_or.at(words, inside >> numpy.uint64(6), numpy.uint64(1) << (inside & numpy.uint64(63)))
        yield chunk, words.view(numpy.int64)
