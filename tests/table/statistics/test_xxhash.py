"""XXH64 against the values of its specification and a second implementation, one word at a time."""

import numpy
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.statistics.xxhash import hashes

WORD = 2**64 - 1
PRIMES = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def rows_of(values: list[bytes]) -> numpy.ndarray:
    return numpy.frombuffer(b"".join(values), numpy.uint8).reshape(len(values), -1 if values[0] else 0)


def test_known_values() -> None:
    known = {
        b"": 0xEF46DB3751D8E999,
        b"a": 0xD24EC4F1A98C6E5B,
        b"abc": 0x44BC2CF5AD770999,
        b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
    }
    assert {value: int(hashes(rows_of([value]))[0]) for value in known} == known


def rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & WORD


def mixed(total: int, lane: int) -> int:
    return rotated((total + lane * PRIMES[1]) & WORD, 31) * PRIMES[0] & WORD


def plain_hash(data: bytes) -> int:
    """The specification's steps with Python's numbers."""
    one, two, three, four, five = PRIMES
    left, found = data, five
    if len(data) >= 32:
        sums = [one + two & WORD, two, 0, -one & WORD]
        while len(left) >= 32:
            sums = [mixed(sums[at], int.from_bytes(left[8 * at : 8 * at + 8], "little")) for at in range(4)]
            left = left[32:]
        found = sum(rotated(each, by) for each, by in zip(sums, (1, 7, 12, 18), strict=True)) & WORD
        for each in sums:
            found = ((found ^ mixed(0, each)) * one + four) & WORD
    found = found + len(data) & WORD
    while len(left) >= 8:
        found = (rotated(found ^ mixed(0, int.from_bytes(left[:8], "little")), 27) * one + four) & WORD
        left = left[8:]
    if len(left) >= 4:
        found = (rotated(found ^ int.from_bytes(left[:4], "little") * one & WORD, 23) * two + three) & WORD
        left = left[4:]
    for byte in left:
        found = rotated(found ^ byte * five & WORD, 11) * one & WORD
    found = (found ^ found >> 33) * two & WORD
    found = (found ^ found >> 29) * three & WORD
    return found ^ found >> 32


@given(st.integers(1, 100).flatmap(lambda length: st.lists(st.binary(min_size=length, max_size=length), min_size=1)))
def test_rows_of_every_length_are_hashed_as_one_value_is(values: list[bytes]) -> None:
    assert hashes(rows_of(values)).tolist() == [plain_hash(one) for one in values]
