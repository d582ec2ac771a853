"""Leaving deleted rows out: an anti join with the vectors, which are broadcast as bits.

    key = ordinal of the file ‖ position without its last 16 bits -> up to 1,024 words, bit 0 of the first one first

Keys have no more bits than they need: if they lie close together, Spark uses an array instead of a hash table
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
_WORDS = pyarrow.list_(pyarrow.field("element", pyarrow.int64(), nullable=False))  # not nullable, so Spark checks none


def without_deleted(
    spark: SparkSession, rows: DataFrame, vectors: Mapping[int, FrozenBitMap64], most_rows: int, place: Place
) -> DataFrame:
    """The rows that the vectors of their files, by ordinal, don't delete; `place` is where each row is.

    `most_rows` is the row count of the largest file: a position beyond it would have the key of another file.
    """
    shift = (most_rows >> CHUNK_BITS).bit_length()
    deleted = F.broadcast(spark.createDataFrame(_bits(vectors, shift))).alias("deleted")
    key = F.shiftleft(place.ordinal, shift).bitwiseOR(F.shiftright(place.position, CHUNK_BITS))
    bit = place.position.bitwiseAND(F.lit((1 << CHUNK_BITS) - 1)).cast("int")
    word = F.get(F.col("deleted.words"), F.shiftright(bit, 6))  # null beyond the last word, which keeps the row
    is_deleted = F.getbit(word, bit.bitwiseAND(F.lit(63))) == 1
    return rows.join(deleted, (key == F.col("deleted.key")) & is_deleted, "left_anti")


def _bits(vectors: Mapping[int, FrozenBitMap64], shift: int) -> pyarrow.Table:
    found = [
        ((ordinal << shift) | chunk, words) for ordinal, vector in vectors.items() for chunk, words in _chunks(vector)
    ]
    keys = pyarrow.array([key for key, _ in found], pyarrow.int64())
    return pyarrow.table({"key": keys, "words": pyarrow.array([words for _, words in found], _WORDS)})


def _chunks(vector: FrozenBitMap64) -> Iterator[tuple[int, numpy.typing.NDArray[numpy.int64]]]:
    """The chunks of a vector that are not empty, each with its words up to the last that is not zero."""
    positions = numpy.frombuffer(vector.to_array(), numpy.uint64).astype(numpy.int64)
    chunks, starts = numpy.unique(positions >> CHUNK_BITS, return_index=True)
    for chunk, part in zip(chunks.tolist(), numpy.split(positions, starts[1:]), strict=False):
        inside = (part & ((1 << CHUNK_BITS) - 1)).astype(numpy.uint64)
        words = numpy.zeros(int(inside[-1] >> numpy.uint64(6)) + 1, numpy.uint64)
        numpy.bitwise_or.at(words, inside >> numpy.uint64(6), numpy.uint64(1) << (inside & numpy.uint64(63)))
        yield chunk, words.view(numpy.int64)
