"""Parquet's bloom filters: split blocks of 256 bits, and XXH64 of a value's bytes in the file.

A filter tells whether a value may be among those it was made of, or certainly is not. Its bits are those that Arrow
writes, whatever the order of the values and however often they repeat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from lakebed.deferred import numpy
from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.statistics.bloom_values import file_bytes
from lakebed.table.statistics.bound_arrays import Mask
from lakebed.table.statistics.xxhash import Words, hashes
from lakebed.table.types.types import Type

BLOCK_BYTES: Final = 32
MOST_BYTES: Final = 128 << 20  # no Parquet writer makes a larger filter
FPP: Final = 0.01
"""The default rate of false positives."""

FEW: Final = 64
"""Up to this many values are looked up one by one."""

_SALTS: Final = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


# Thrift's compact form of BloomFilterHeader: field 1, an i32, then BLOCK, XXHASH and UNCOMPRESSED.
_SIZE: Final = b"\x15"
_KNOWN: Final = bytes.fromhex("1c1c00001c1c00001c1c000000")


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """Blocks of eight words. Values are looked up by their bytes in the file, which depend on the type."""

    words: numpy.ndarray[Any, numpy.dtype[numpy.uint32]]

    @classmethod
    def of(cls, type: Type, values: Iterable[Value], *, distinct: int, fpp: float = FPP) -> BloomFilter:
        """A filter of plain values, none of them null, sized for this many distinct values."""
        words = numpy.zeros((filter_bytes(distinct, fpp) // BLOCK_BYTES, 8), numpy.uint32)
        hashed = _hashes([file_bytes(type, value) for value in values])
        numpy.bitwise_or.at(words, *_places(hashed, len(words)))
        return cls(words)

    def may_contain_each(self, data: Sequence[bytes]) -> Mask:
        """For each of many values, given by their bytes in the file, whether the column may have it."""
        blocks, masks = _places(_hashes(data), len(self.words))
        contained: Mask = ((self.words[blocks] & masks) == masks).all(axis=1)
        return contained

    def may_contain_any(self, data: Sequence[bytes]) -> bool:
        """Whether the column may have at least one of these values, given by their bytes in the file.

        A point read asks a thousand filters for one value: its hash is cached, and for eight words numpy would take ten
        times as long.
        """
        if len(data) > FEW:
            return bool(self.may_contain_each(data).any())
        return any(self._has(_hash(value)) for value in data)

    def _has(self, hashed: int) -> bool:
        words = self.words[((hashed >> 32) * len(self.words)) >> 32].tolist()
        low = hashed & 0xFFFFFFFF
        return all(word >> ((low * salt & 0xFFFFFFFF) >> 27) & 1 for word, salt in zip(words, _SALTS, strict=True))

    def serialized(self) -> bytes:
        """Header and bits, as in a file."""
        data = self.words.astype("<u4").tobytes()
        return _SIZE + _zigzag(len(data)) + _KNOWN + data


def parse_bloom(data: bytes) -> BloomFilter | None:
    """The filter in a file's bytes; None if its kind is unknown, so that it rules nothing out."""
    end = data.find(_KNOWN, 1, 6 + len(_KNOWN))
    bits = data[end + len(_KNOWN) :]
    if end < 0 or data[:end] != _SIZE + _zigzag(len(bits)) or not bits or len(bits) % BLOCK_BYTES:
        return None
    return BloomFilter(numpy.frombuffer(bits, "<u4").reshape(-1, 8))


def filter_bytes(distinct: int, fpp: float) -> int:
    """The size of a filter for this many distinct values: a power of two, between one block and 128 MB."""
    least = max(distinct, 1) * _bits_per_value(fpp) / 8
    return int(min(max(2 ** math.ceil(math.log2(least)), BLOCK_BYTES), MOST_BYTES))


def unblocked_fpp(fpp: float) -> float:
    """The rate to ask Arrow for, to get this one: it sizes filters as if a value's eight bits were not in one block.

    Asked for 0.01 it makes filters of 9.7 bits per value, which have 1.5 % false positives. 10.6 bits keep to 1 %.
    """
    return float((1 - math.exp(-8 / _bits_per_value(fpp))) ** 8)


@lru_cache(maxsize=16)
def _bits_per_value(fpp: float) -> float:
    """The bits per value that a filter needs, found by bisection."""
    if not 0 < fpp < 1:
        raise Invalid("this is not a rate of false positives", expected="above 0 and below 1", found=fpp)
    low, high = 0.5, 1024.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _rate(middle) > fpp else (low, middle)
    return high


def _rate(bits: float) -> float:
    """The rate of false positives: blocks have unequal numbers of values (Poisson)."""
    mean = 8 * BLOCK_BYTES / bits
    chances = [math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)) for count in range(int(8 * mean) + 40)]
    return sum(chance * (1 - (1 - 1 / 32) ** count) ** 8 for count, chance in enumerate(chances))


@lru_cache(maxsize=4096)
def _hash(data: bytes) -> int:
    return int(_hashes([data])[0])


def _hashes(data: Sequence[bytes]) -> Words:
    """The hash of each value; values of one length are hashed together."""
    lengths = numpy.array([len(value) for value in data], numpy.int64)
    result = numpy.zeros(len(data), numpy.uint64)
    for length in numpy.unique(lengths).tolist():
        places = numpy.flatnonzero(lengths == length)
        joined = b"".join([data[place] for place in places.tolist()])
        result[places] = hashes(numpy.frombuffer(joined, numpy.uint8).reshape(len(places), length))
    return result


def _places(hashed: Words, blocks: int) -> tuple[Any, Any]:
    """For each hash, its block (by the upper half) and the eight bits that it sets there (by the lower half)."""
    block = ((hashed >> numpy.uint64(32)) * numpy.uint64(blocks)) >> numpy.uint64(32)
    bits = (hashed.astype(numpy.uint32)[:, None] * numpy.array(_SALTS, numpy.uint32)) >> numpy.uint32(27)
    return block.astype(numpy.int64), numpy.uint32(1) << bits


def _zigzag(number: int) -> bytes:
    """A non-negative number as Thrift writes an i32."""
    left, data = number << 1, bytearray()
    while left > 0x7F:
        data.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*data, left))
