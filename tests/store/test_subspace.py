"""Subspaces beside FoundationDB's own."""

import pickle
from dataclasses import FrozenInstanceError

import pytest
from fdb.subspace_impl import Subspace as Oracle
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.store.subspace import Subspace, after
from lakebed.store.tuples import Pending
from lakebed.store.version import Version

items = st.lists(st.none() | st.integers() | st.text(max_size=4) | st.binary(max_size=4), max_size=3).map(tuple)
raws = st.binary(max_size=4)


@given(items, raws, items)
def test_keys_and_ranges_are_foundationdbs(prefix, raw, inner):
    ours, oracle = Subspace(prefix, raw), Oracle(prefix, raw)
    assert ours.key == ours.pack() == oracle.key()
    assert ours.pack(inner) == oracle.pack(inner)
    assert ours.unpack(ours.pack(inner)) == inner == oracle.unpack(ours.pack(inner))
    assert ours.range(inner) == (oracle.range(inner).start, oracle.range(inner).stop)
    assert ours["child"].key == oracle["child"].key()
    assert ours[1, 2].key == oracle[1, 2].key()


@given(items, raws, items, items)
def test_a_child_has_the_keys_that_begin_with_its_items(prefix, raw, middle, inner):
    parent = Subspace(prefix, raw)
    child = parent.subspace(middle)
    assert child.pack(inner) == parent.pack(middle + inner)
    assert child == Subspace(prefix + middle, raw)
    assert hash(child) == hash(Subspace(prefix + middle, raw))
    begin, end = parent.range(middle)
    assert (begin <= child.pack(inner) < end) == bool(inner)


@given(items, raws, st.binary(max_size=8))
def test_a_subspace_contains_what_begins_with_its_prefix(prefix, raw, key):
    subspace = Subspace(prefix, raw)
    assert subspace.contains(key) == (key in subspace) == key.startswith(subspace.key)
    assert subspace.contains(subspace.key + key)


def test_a_key_of_another_subspace_is_invalid():
    with pytest.raises(Invalid, match="another subspace"):
        Subspace((1,)).unpack(Subspace((2,)).pack((3,)))


def test_a_broken_key_is_corrupt_at_its_place_in_the_whole_key():
    with pytest.raises(Corrupt, match="offset 4"):
        Subspace((1,), b"ab").unpack(b"ab\x15\x01\xff")


@given(items, raws, items, st.binary(min_size=10, max_size=10))
def test_the_offset_of_a_stamp_counts_the_prefix(prefix, raw, inner, stamp):
    subspace = Subspace(prefix, raw)
    key, offset = subspace.pack_stamped((*inner, Pending(2), 1))
    assert key[:offset] + stamp + key[offset + 10 :] == subspace.pack((*inner, Version.of(2, stamp), 1))


def test_a_subspace_is_a_value():
    subspace = Subspace((1, "a"), b"x")
    assert pickle.loads(pickle.dumps(subspace)) == subspace == eval(repr(subspace))
    with pytest.raises(FrozenInstanceError):
        subspace.key = b""


@pytest.mark.parametrize(
    ("prefix", "first"), [(b"a", b"b"), (b"a\xff\xff", b"b"), (b"\x00", b"\x01"), (b"\xff\x00", b"\xff\x01")]
)
def test_the_first_key_after_a_prefix(prefix, first):
    assert after(prefix) == first


@given(st.binary(max_size=4), st.binary(max_size=6), st.binary(max_size=4))
def test_after_parts_the_keys_with_a_prefix_from_the_later_ones(prefix, key, more):
    if not prefix.strip(b"\xff"):
        with pytest.raises(Invalid):
            after(prefix)
        return
    assert prefix + more < after(prefix)
    if key > prefix and not key.startswith(prefix):
        assert key >= after(prefix)


@pytest.mark.parametrize("prefix", [b"", b"\xff", b"\xff\xff"])
def test_no_key_comes_after_a_prefix_of_ff_alone(prefix):
    with pytest.raises(Invalid):
        after(prefix)
