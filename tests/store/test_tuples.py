"""The tuple layer beside FoundationDB's own, which is the oracle for bytes, values and order."""

import math
import struct
from enum import IntEnum, StrEnum
from types import SimpleNamespace
from typing import NamedTuple
from uuid import UUID

import fdb
import fdb.tuple
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.store.subspace import Subspace
from lakebed.store.tuples import Pending, Single, pack, pack_element, pack_stamped, unpack
from lakebed.store.version import LAST, ZERO, Version

SOME_UUID = UUID("00112233-4455-6677-8899-aabbccddeeff")


@pytest.fixture(scope="module", autouse=True)
def fdb_without_its_library():
    """fdb.tuple looks `fdb.impl.Value` up when it packs a versionstamp, and that module needs the native library."""
    with pytest.MonkeyPatch.context() as patch:
        if not hasattr(fdb, "impl"):
            patch.setattr(fdb, "impl", SimpleNamespace(Value=type("Value", (), {})), raising=False)
        yield


boundaries = sorted(
    {
        sign * (2**bits + near)
        for bits in [*range(0, 81, 8), 63, 128, 1024, 2032]
        for near in (-2, -1, 0, 1, 2)
        for sign in (-1, 1)
    }
    | {2**2040 - 1, 1 - 2**2040}
)
integers = st.sampled_from(boundaries) | st.integers(-(2**72), 2**72) | st.integers(1 - 2**2040, 2**2040 - 1)
floats = st.floats() | st.sampled_from([math.nan, -math.nan, 0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324])
texts = st.text(max_size=8) | st.text("\x00\x01aÿ\U0010ffff", max_size=6)
binaries = st.binary(max_size=8) | st.lists(st.sampled_from([0, 1, 255]), max_size=6).map(bytes)
# FoundationDB takes ten FF bytes at the beginning for a versionstamp that is not complete.
versions = st.binary(min_size=12, max_size=12).filter(lambda raw: raw[:10] != b"\xff" * 10).map(Version)
elements = st.recursive(
    st.none()
    | st.booleans()
    | integers
    | floats
    | st.floats(width=32).map(Single)
    | texts
    | binaries
    | st.uuids()
    | versions,
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=12,
)
items = st.lists(elements, max_size=5).map(tuple)


def theirs(value):
    """Our element as FoundationDB's Python has it."""
    if isinstance(value, tuple):
        return tuple(map(theirs, value))
    if isinstance(value, Version):
        return fdb.tuple.Versionstamp(tr_version=value[:10], user_version=int.from_bytes(value[10:], "big"))
    if isinstance(value, Single):
        return fdb.tuple.SingleFloat(value.value)
    return value


def told_apart(value):
    """An element of either layer with its type, floats by their bits: 1, 1.0 and True are not one value."""
    if isinstance(value, tuple):
        return tuple(map(told_apart, value))
    if isinstance(value, Single | fdb.tuple.SingleFloat):
        return "single", struct.pack(">f", value.value)
    if isinstance(value, float):
        return "double", struct.pack(">d", value)
    if isinstance(value, fdb.tuple.Versionstamp):
        return "Version", value.to_bytes()
    return type(value).__name__, value


@given(items)
@example(tuple(boundaries))
@example((None, (None, (None,), ()), (), ((),)))
@example((math.nan, -math.nan, -0.0, Single(math.nan), Single(-0.0)))
def test_keys_are_foundationdbs_byte_for_byte(value):
    assert pack(value) == fdb.tuple.pack(theirs(value))


@given(items)
@example(tuple(boundaries))
@example((None, (None, (None,), ()), (), ((),)))
def test_each_layer_unpacks_what_the_other_packed(value):
    assert told_apart(unpack(fdb.tuple.pack(theirs(value)))) == told_apart(value)
    assert told_apart(fdb.tuple.unpack(pack(value))) == told_apart(value)


@st.composite
def pairs(draw):
    """Two tuples, often alike at the beginning: else the first element nearly always decides."""
    common = draw(items)
    one, other = common + draw(items), common + draw(items)
    if draw(st.booleans()):
        return (one, 1), (other, 1)
    return one, other


@given(pairs())
def test_keys_sort_as_their_tuples(pair):
    one, other = pack(pair[0]), pack(pair[1])
    assert (one > other) - (one < other) == fdb.tuple.compare(theirs(pair[0]), theirs(pair[1]))


def test_keys_of_ints_sort_as_the_ints():
    assert [unpack(key)[0] for key in sorted(pack((value,)) for value in boundaries)] == boundaries


@given(versions, versions)
def test_keys_of_versions_sort_as_the_versions(one, other):
    assert (pack((one,)) < pack((other,))) == (one < other)


@given(items, items)
def test_the_key_of_two_tuples_joined_is_their_keys_joined(one, other):
    assert pack(one + other) == pack(one) + pack(other)
    assert b"".join(map(pack_element, one)) == pack(one)
    assert told_apart(unpack(pack(one + other), len(pack(one)))) == told_apart(other)


@given(items, items)
def test_a_range_has_the_longer_tuples_only(prefix, more):
    begin, end = Subspace().range(prefix)
    theirs_too = fdb.tuple.range(theirs(prefix))
    assert (begin, end) == (theirs_too.start, theirs_too.stop)
    assert (begin <= pack(prefix + more) < end) == bool(more)


# From https://github.com/apple/foundationdb/blob/main/design/tuple.md, except the last five.
@pytest.mark.parametrize(
    ("value", "key"),
    [
        (None, b"\x00"),
        (b"foo\x00bar", b"\x01foo\x00\xffbar\x00"),
        ("F\u00d4O\u0000bar", b"\x02F\xc3\x94O\x00\xffbar\x00"),
        ((b"foo\x00bar", None, ()), b"\x05\x01foo\x00\xffbar\x00\x00\xff\x05\x00\x00"),
        (-5551212, b"\x11\xab\x4b\x93"),
        (Single(-42.0), b"\x20\x3d\xd7\xff\xff"),
        (0, b"\x14"),
        (-1, b"\x13\xfe"),
        (True, b"\x27"),
        (SOME_UUID, b"\x30\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"),
        (Version.of(1, b"\x02" * 10), b"\x33\x00\x01\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02"),
    ],
)
def test_the_published_examples(value, key):
    assert pack((value,)) == key
    assert told_apart(unpack(key)) == told_apart((value,))


@pytest.mark.parametrize("version", [ZERO, LAST])
def test_the_first_and_the_last_version_are_keys_too(version):
    (back,) = unpack(pack((version,)))
    assert (type(back), back) == (Version, version)


def test_ints_of_other_bindings_that_are_not_in_the_shortest_form_are_read():
    assert unpack(b"\x1c" + b"\xff" * 8) == (2**64 - 1,)
    assert unpack(b"\x16\x00\x01") == (1,)


class Colour(IntEnum):
    RED = 300


class Word(StrEnum):
    NAME = "name"


class Pair(NamedTuple):
    one: int
    other: None


def test_a_subclass_is_packed_as_its_base():
    assert pack((Colour.RED, Word.NAME, Pair(1, None))) == pack((300, "name", (1, None)))


# Stamped keys


@given(items, st.integers(0, 65535), items, st.binary(min_size=10, max_size=10))
def test_a_stamped_key_becomes_the_versions_key_once_the_stamp_is_in_place(before, incarnation, behind, stamp):
    key, offset = pack_stamped((*before, Pending(incarnation), *behind))
    assert key[offset : offset + 10] == b"\xff" * 10
    assert key[:offset] + stamp + key[offset + 10 :] == pack((*before, Version.of(incarnation, stamp), *behind))


@given(items, items, st.binary(min_size=10, max_size=10))
def test_a_pending_version_may_be_nested(before, inner, stamp):
    key, offset = pack_stamped((*before, (None, (*inner, Pending(7)), None), 1))
    completed = key[:offset] + stamp + key[offset + 10 :]
    assert completed == pack((*before, (None, (*inner, Version.of(7, stamp)), None), 1))


@pytest.mark.parametrize("value", [(), (1, "a"), (Pending(0), Pending(0)), (Pending(0), (1, (Pending(1),)))])
def test_a_stamped_key_has_exactly_one_pending_version(value):
    with pytest.raises(Invalid, match="one pending version"):
        pack_stamped(value)


@pytest.mark.parametrize("value", [(Pending(0),), (1, (Pending(0),))])
def test_a_plain_key_has_no_pending_version(value):
    with pytest.raises(Invalid, match="pack_stamped"):
        pack(value)


@pytest.mark.parametrize("incarnation", [-1, 65536])
def test_a_pending_version_has_an_incarnation_of_two_bytes(incarnation):
    with pytest.raises(Invalid):
        Pending(incarnation)


# What is refused


@pytest.mark.parametrize("value", [[1], {1}, {}, 1j, object(), bytearray(b"a"), int])
def test_a_type_without_a_code_is_named(value):
    for packer in (pack, pack_stamped):
        with pytest.raises(Invalid, match=type(value).__name__):
            packer((1, (value,)))


@pytest.mark.parametrize("value", [2**2040, -(2**2040), "\ud800"])
def test_values_that_no_key_holds_are_invalid(value):
    with pytest.raises(Invalid):
        pack((value,))


@pytest.mark.parametrize("value", [1e39, "1", None])
def test_a_single_is_a_float_of_32_bits(value):
    with pytest.raises(Invalid):
        Single(value)


def test_a_single_is_rounded():
    assert Single(0.1) == Single(struct.unpack(">f", struct.pack(">f", 0.1))[0]) != Single(0.2)


def test_tuples_nested_beyond_the_stack_are_invalid():
    deep = ()
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(Invalid, match="deep"):
        pack((deep,))
    with pytest.raises(Invalid, match="deep"):
        pack_stamped((deep, Pending(0)))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x14\xff", "offset 1.*0xff"),
        (b"\x03", "offset 0.*0x03"),
        (b"\x01abc", "offset 0.*0x01.*without an end"),
        (b"\x14\x02a\x00\xff", "offset 1.*0x02.*without an end"),
        (b"\x02\xc3\x00", "offset 0.*0x02.*UTF-8"),
        (b"\x05\x14", "offset 2.*0x05"),
        (b"\x05" * 100_000, "0x05"),
        (b"\x05\x00\xff", "0x05"),
        (b"\x15", "offset 0.*0x15"),
        (b"\x0c" + bytes(7), "offset 0.*0x0c"),
        (b"\x1d", "offset 0.*0x1d"),
        (b"\x1d\x09" + bytes(8), "offset 0.*0x1d.*11 bytes"),
        (b"\x0b", "offset 0.*0x0b"),
        (b"\x0b\xf6" + bytes(8), "offset 0.*0x0b.*11 bytes"),
        (b"\x20" + bytes(3), "offset 0.*0x20"),
        (b"\x20", "offset 0.*0x20"),
        (b"\x21" + bytes(7), "offset 0.*0x21"),
        (b"\x30" + bytes(15), "offset 0.*0x30"),
        (b"\x33" + bytes(11), "offset 0.*0x33"),
    ],
)
def test_bytes_of_no_tuple_are_corrupt_and_the_place_is_named(data, words):
    with pytest.raises(Corrupt, match=words):
        unpack(data)


codes = st.sampled_from(sorted({0, 1, 2, 3, 5, *range(0x0A, 0x1F), 0x20, 0x21, 0x26, 0x27, 0x30, 0x33, 0xFF}))


@given(st.binary(max_size=40) | st.lists(codes, max_size=40).map(bytes))
def test_any_bytes_are_a_tuple_or_corrupt(data):
    try:
        value = unpack(data)
    except Corrupt:
        return
    assert told_apart(unpack(pack(value))) == told_apart(value)


@given(items, st.data())
def test_a_key_that_was_cut_is_the_key_of_another_tuple_or_corrupt(value, data):
    key = pack(value)
    cut = key[: data.draw(st.integers(0, len(key)))]
    try:
        found = unpack(cut)
    except Corrupt:
        return
    assert pack(found) == cut
