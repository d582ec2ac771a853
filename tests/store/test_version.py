"""Versions: 12 bytes that sort as their numbers."""

import copy
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.store.version import LAST, ZERO, Version

versions = st.binary(min_size=12, max_size=12).map(Version)


def test_a_version_is_its_incarnation_and_its_stamp():
    version = Version.of(3, b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09")
    assert bytes(version) == b"\x00\x03\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"
    assert (version.incarnation, version.stamp) == (3, b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09")
    assert type(version.stamp) is bytes


def test_a_version_is_shown_as_a_plain_number():
    version = Version.parse(17)
    assert (int(version), str(version), repr(version), f"{version}") == (17, "17", "Version(17)", "17")
    assert int(Version.of(1, bytes(10))) == 2**80


@given(versions)
def test_whatever_a_version_was_shown_as_parses_to_it(version):
    for shown in (int(version), str(version), bytes(version), version):
        parsed = Version.parse(shown)
        assert type(parsed) is Version
        assert parsed == version
    assert Version.of(version.incarnation, version.stamp) == version


@given(versions, versions)
def test_versions_order_and_hash_as_their_numbers(one, other):
    assert (one < other, one == other, one > other) == (
        int(one) < int(other),
        int(one) == int(other),
        int(one) > int(other),
    )
    assert len({one, other, Version.parse(int(one))}) == len({int(one), int(other)})


def test_a_later_incarnation_comes_after_every_stamp_of_an_earlier_one():
    assert Version.of(1, b"\xff" * 10) < Version.of(2, bytes(10))
    assert Version.of(1, b"\xff" * 10).next() == Version.of(2, bytes(10))


@given(versions)
def test_next_and_previous_are_neighbours(version):
    if version != LAST:
        assert int(version.next()) == int(version) + 1
        assert version.next().previous() == version
    if version != ZERO:
        assert type(version.previous()) is Version
        assert version.previous() < version


def test_nothing_lies_beyond_the_first_and_the_last():
    assert (int(ZERO), int(LAST)) == (0, 2**96 - 1)
    with pytest.raises(Invalid):
        ZERO.previous()
    with pytest.raises(Invalid):
        LAST.next()


@given(versions)
def test_a_version_survives_pickling_and_copying(version):
    copies = [pickle.loads(pickle.dumps(version, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for twin in [*copies, copy.copy(version), copy.deepcopy(version)]:
        assert type(twin) is Version
        assert twin == version


@pytest.mark.parametrize(
    "value",
    [
        -1,
        2**96,
        10**5000,
        True,
        False,
        None,
        1.0,
        "",
        "-1",
        "+1",
        " 1",
        "1\n",
        "1_000",
        "0x11",
        "1.0",
        "١٧",
        "²",
        "Version(17)",
        str(2**96),
        "9" * 10_000,
        b"",
        b"17",
        bytes(11),
        bytes(13),
        bytearray(12),
        (1,),
    ],
    ids=lambda value: f"{type(value).__name__}-{str(value)[:12] if value != 10**5000 else 'huge'}",
)
def test_what_is_no_version_is_refused_with_a_message(value):
    with pytest.raises(Invalid) as caught:
        Version.parse(value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("raw", [b"", bytes(11), bytes(13), 12, "0" * 12, bytearray(12), None])
def test_the_constructor_takes_twelve_bytes_only(raw):
    with pytest.raises(Invalid):
        Version(raw)


@pytest.mark.parametrize(("incarnation", "stamp"), [(-1, bytes(10)), (65536, bytes(10)), (0, bytes(9)), (0, bytes(11))])
def test_an_incarnation_or_a_stamp_out_of_range_is_refused(incarnation, stamp):
    with pytest.raises(Invalid):
        Version.of(incarnation, stamp)


def test_a_whole_decimal_is_a_version_as_system_tables_show_it():
    assert Version.parse(Decimal("17")) == Version.parse(17)
    for other in ("1.5", "NaN", "Infinity", "-1"):
        with pytest.raises(Invalid):
            Version.parse(Decimal(other))
