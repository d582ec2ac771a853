"""Bloom filters as Parquet has them: split blocks of 256 bits, and XXH64 of a value's bytes in the file.

A filter says of a value that it may be among those it was made of, or surely is not. Its bits are those that Arrow
writes, whatever the order of the values and however often one comes.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.statistics.bloom_values import file_bytes
from lakebed.table.statistics.bound_arrays import Mask
from lakebed.table.statistics.xxhash import Words, hashes
from lakebed.table.types.types import Type

BLOCK_BYTES: Final = 32
MOST_BYTES: Final = 128 << 20  # no writer of Parquet makes a larger one
FPP: Final = 0.01
"""How often a value that is not there may be taken for one that is, unless another rate is asked for."""

_SALT: Final = numpy.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], numpy.uint32
)

_SALTS: Final = tuple(_SALT.tolist())

FEW: Final = 64
"""So many values are looked up one by one."""

# Thrift's compact form of BloomFilterHeader: field 1, an i32, and behind it BLOCK, XXHASH and UNCOMPRESSED.
_SIZE: Final = b"\x15"
_KNOWN: Final = bytes.fromhex("1c1c00001c1c00001c1c000000")


def filter_bytes(distinct: int, fpp: float) -> int:
    """The size of a filter of that many distinct values: a power of two, between a block and 128 MB."""
    least = max(distinct, 1) * _bits_per_value(fpp) / 8
    return int(min(max(2 ** math.ceil(math.log2(least)), BLOCK_BYTES), MOST_BYTES))


def unblocked_fpp(fpp: float) -> float:
    """The rate to ask Arrow for, to have this one: it reckons as if the eight bits of a value lay anywhere.

    Asked for 0.01 it makes filters of 9.7 bits a value, which take 1.5 % of all others for theirs. 10.6 keep to it.
    """
    return float((1 - math.exp(-8 / _bits_per_value(fpp))) ** 8)


@lru_cache(maxsize=16)
def _bits_per_value(fpp: float) -> float:
    """How many bits a filter has to have for each value, found by halving the range in which it lies."""
    if not 0 < fpp < 1:
        raise Invalid("this is no rate of false positives", expected="above 0 and below 1", found=fpp)
    low, high = 0.5, 1024.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _rate(middle) > fpp else (low, middle)
    return high


def _rate(bits: float) -> float:
    """The rate at which others are taken for one of the values: blocks have unequal numbers of them (Poisson)."""
    mean = 8 * BLOCK_BYTES / bits
    chances = [math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)) for count in range(int(8 * mean) + 40)]
    return sum(chance * (1 - (1 - 1 / 32) ** count) ** 8 for count, chance in enumerate(chances))


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """Blocks of eight words. Values are compared by the bytes that they have in a file: those of their type."""

    words: numpy.ndarray[Any, numpy.dtype[numpy.uint32]]

    @classmethod
    def of(cls, type: Type, values: Iterable[Value], *, distinct: int, fpp: float = FPP) -> "BloomFilter":
        """A filter of plain values, none of them null, large enough for that many distinct ones."""
        words = numpy.zeros((filter_bytes(distinct, fpp) // BLOCK_BYTES, 8), numpy.uint32)
        found = _hashes([file_bytes(type, one) for one in values])
        numpy.bitwise_or.at(words, *_places(found, len(words)))
        return cls(words)

    def may_contain(self, type: Type, value: Value) -> bool:
        """Whether a column of this type may have the value; False only if it surely does not."""
        return bool(self.may_contain_each([file_bytes(type, value)])[0])

    def may_contain_each(self, data: Sequence[bytes]) -> Mask:
        """The same of many values, by the bytes that they have in the file."""
        blocks, masks = _places(_hashes(data), len(self.words))
        found: Mask = ((self.words[blocks] & masks) == masks).all(axis=1)
        return found

    def may_contain_any(self, data: Sequence[bytes]) -> bool:
        """Whether the column may have one of these values, by the bytes that they have in the file.

        A point read asks a thousand filters for one value: its hash is remembered, and numpy would take ten times as
        long to look at eight words.
        """
        if len(data) > FEW:
            return bool(self.may_contain_each(data).any())
        return any(self._has(_hash(one)) for one in data)

    def _has(self, found: int) -> bool:
        words = self.words[((found >> 32) * len(self.words)) >> 32].tolist()
        low = found & 0xFFFFFFFF
        return all(word >> ((low * salt & 0xFFFFFFFF) >> 27) & 1 for word, salt in zip(words, _SALTS, strict=True))

    def serialized(self) -> bytes:
        """Header and bits, as they stand in a file."""
        data = self.words.astype("<u4").tobytes()
        return _SIZE + _zigzag(len(data)) + _KNOWN + data


def parse_bloom(data: bytes) -> BloomFilter | None:
    """The filter that a file's bytes hold; None for any that is not known here, which then rules nothing out."""
    end = data.find(_KNOWN, 1, 6 + len(_KNOWN))
    bits = data[end + len(_KNOWN) :]
    if end < 0 or data[:end] != _SIZE + _zigzag(len(bits)) or not bits or len(bits) % BLOCK_BYTES:
        return None
    return BloomFilter(numpy.frombuffer(bits, "<u4").reshape(-1, 8))


@lru_cache(maxsize=4096)
def _hash(data: bytes) -> int:
    return int(_hashes([data])[0])


def _hashes(data: Sequence[bytes]) -> Words:
    """The hash of each value; those of one length are hashed together."""
    lengths = numpy.array([len(one) for one in data], numpy.int64)
    found = numpy.zeros(len(data), numpy.uint64)
    for length in numpy.unique(lengths).tolist():
        places = numpy.flatnonzero(lengths == length)
        joined = b"".join([data[place] for place in places.tolist()])
        found[places] = hashes(numpy.frombuffer(joined, numpy.uint8).reshape(len(places), length))
    return found


def _places(found: Words, blocks: int) -> tuple[Any, Any]:
    """For each hash its block, by the upper half, and the eight bits that it sets there, by the lower one."""
    block = ((found >> numpy.uint64(32)) * numpy.uint64(blocks)) >> numpy.uint64(32)
    bits = (found.astype(numpy.uint32)[:, None] * _SALT) >> numpy.uint32(27)
    return block.astype(numpy.int64), numpy.uint32(1) << bits


def _zigzag(number: int) -> bytes:
    """A number that is not negative as Thrift writes an i32."""
    left, data = number << 1, bytearray()
    while left > 0x7F:
        data.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*data, left))
