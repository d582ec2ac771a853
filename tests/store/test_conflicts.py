"""Whether what was read and what was written meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt
from lakebed.store.conflicts import Ranges, ReadSet, Written
from lakebed.store.transaction import KeyRange

keys = st.binary(max_size=3)
key_ranges = st.builds(KeyRange, keys, keys)
writtens = st.builds(Written, st.lists(keys, max_size=5).map(tuple), st.lists(key_ranges, max_size=5).map(tuple))


@given(writtens)
def test_what_a_commit_wrote_comes_back_from_its_bytes(written: Written) -> None:
    assert Written.decode(written.encode()) == written


def test_the_bytes_of_what_a_commit_wrote_stay_the_same() -> None:
    written = Written((b"", b"key", b"k" * 10_000), (KeyRange(b"a", b"b\x00"), KeyRange(b"", b"\xff")))
    keys = bytes.fromhex("00000003000000036b65792710") + b"k" * 10_000
    assert written.encode() == keys + bytes.fromhex("0001610002620000000001ff")


@given(writtens, st.data())
def test_bytes_that_are_cut_short_are_corrupt(written: Written, data: st.DataObject) -> None:
    whole = written.encode()
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = Written.decode(cut)
    except Corrupt:
        return
    # A cut between two ranges can't be told; it never makes up what was not there.
    assert found.keys == written.keys[: len(found.keys)]


def test_an_odd_end_of_a_range_is_corrupt() -> None:
    with pytest.raises(Corrupt):
        Written.decode(bytes.fromhex("00000000" + "000161"))


@given(st.lists(key_ranges, max_size=6), keys, key_ranges)
def test_ranges_answer_as_each_of_them_would(ranges: list[KeyRange], key: bytes, other: KeyRange) -> None:
    together = Ranges()
    for range in ranges:
        together.add(range)
    assert together.contain(key) == any(range.contains(key) for range in ranges)
    own = [range for range in ranges if range.begin < range.end]
    assert together.overlap(other) == (other.begin < other.end and any(range.overlaps(other) for range in own))


@given(st.sets(keys, max_size=4), st.lists(key_ranges, max_size=4), writtens)
def test_a_read_set_meets_what_touches_any_of_it(reads: set[bytes], ranges: list[KeyRange], written: Written) -> None:
    read = ReadSet(set(reads))
    for range in ranges:
        read.ranges.add(range)

    def intervals(keys: set[bytes], ranges: list[KeyRange]) -> list[tuple[bytes, bytes]]:
        return [(key, key + b"\x00") for key in keys] + [(range.begin, range.end) for range in ranges]

    expected = any(
        max(a[0], b[0]) < min(a[1], b[1])
        for a in intervals(reads, ranges)
        for b in intervals(set(written.keys), list(written.ranges))
    )
    assert read.meets(written) == expected
