"""XXH64 with seed 0 of many values at once: the hash of Parquet's bloom filters.

The steps are those of xxhash's specification (doc/xxhash_spec.md, "XXH64 Algorithm Description"). numpy's arrays wrap
around at 64 bits, as it requires.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from lakebed.deferred import numpy

Words: TypeAlias = "numpy.ndarray[Any, numpy.dtype[numpy.uint64]]"
Rows: TypeAlias = "numpy.ndarray[Any, numpy.dtype[numpy.uint8]]"

_1, _2, _3, _4, _5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_STRIPE: Final = 32
_STARTS: Final = ((_1 + _2) % 2**64, _2, 0, -_1 % 2**64)


def hashes(rows: Rows) -> Words:
    """The hash of each row of a matrix of bytes."""
    count, length = rows.shape
    whole = length - length % _STRIPE
    state = _stripes(rows[:, :whole]) if whole else numpy.full(count, _5, numpy.uint64)
    return _avalanche(_tail(state + numpy.uint64(length), rows[:, whole:]))


def _stripes(rows: Rows) -> Words:
    """The hash of the whole stripes: each of the four lanes has its own accumulator."""
    lanes = _lanes(rows, 8).reshape(len(rows), -1, 4)
    sums = numpy.tile(numpy.array(_STARTS, numpy.uint64), (len(rows), 1))
    for stripe in range(lanes.shape[1]):
        sums = _round(sums, lanes[:, stripe])
    state = numpy.zeros(len(rows), numpy.uint64)
    for lane, by in enumerate((1, 7, 12, 18)):
        state += _rotated(sums[:, lane], by)
    for lane in range(4):
        state = (state ^ _round(numpy.zeros(len(rows), numpy.uint64), sums[:, lane])) * _1 + _4
    return state


def _tail(state: Words, rows: Rows) -> Words:
    """Mix in the bytes after the stripes: by eight, then four, then one."""
    eights = rows.shape[1] // 8 * 8
    for lane in _lanes(rows[:, :eights], 8).T:
        state = _rotated(state ^ _round(numpy.zeros_like(state), lane), 27) * _1 + _4
    fours = eights + (rows.shape[1] - eights) // 4 * 4
    for lane in _lanes(rows[:, eights:fours], 4).T:
        state = _rotated(state ^ (lane * _1), 23) * _2 + _3
    for lane in _lanes(rows[:, fours:], 1).T:
        state = _rotated(state ^ (lane * _5), 11) * _1
    return state


def _avalanche(state: Words) -> Words:
    state = (state ^ (state >> numpy.uint64(33))) * _2
    state = (state ^ (state >> numpy.uint64(29))) * _3
    return state ^ (state >> numpy.uint64(32))


def _lanes(rows: Rows, width: int) -> Words:
    """A matrix of bytes as one of little-endian numbers of this width."""
    return numpy.ascontiguousarray(rows).view(f"<u{width}").astype(numpy.uint64)


def _round(sums: Words, lanes: Words) -> Words:
    return _rotated(sums + lanes * _2, 31) * _1


def _rotated(words: Words, by: int) -> Words:
    return (words << numpy.uint64(by)) | (words >> numpy.uint64(64 - by))
