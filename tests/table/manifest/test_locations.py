"""Locations: every check by name, nothing beyond four bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest.locations import (
    END,
    Location,
    MetaInfo,
    location_from_proto,
    location_if_near,
    location_to_proto,
)
from lakebed.table.manifest.manifest_pb2 import EntryLocation

BASE = Location("metadata/ä.columns", 24, 4096, 65536, shared=True)
DELETES = Location("data/deletes.puffin", 4, 46, 46)
METAS = [MetaInfo(7, BASE, DELETES), MetaInfo(2**64 - 1, BASE)]

KEYS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@st.composite
def locations(draw):
    offset = draw(st.integers(0, END))
    return Location(
        draw(KEYS), offset, draw(st.integers(0, END - offset)), draw(st.integers(0, END)), draw(st.booleans())
    )


@given(locations())
def test_a_manifest_refers_to_the_same_place(location):
    stored = EntryLocation.FromString(location_to_proto(location).SerializeToString())
    assert location_from_proto(stored) == location


@pytest.mark.parametrize(
    "offset, length, raw_length", [(END, 1, 0), (1, END, 0), (END + 1, 0, 0), (0, 0, END + 1), (-1, 5, 0), (0, -1, 0)]
)
def test_what_four_bytes_can_not_say_is_refused(offset, length, raw_length):
    with pytest.raises(Invalid, match="beyond four bytes"):
        Location("a", offset, length, raw_length)
    assert location_if_near("a", offset, length, raw_length) is None


def test_the_last_byte_that_can_be_said_is_taken():
    assert location_if_near("a", END - 1, 1, END) == Location("a", END - 1, 1, END)
    assert Location("a", END, 0, 0).end == END


def test_a_stored_location_that_can_not_be_is_corrupt():
    with pytest.raises(Corrupt, match=f"a at {END}, 2 bytes: a location goes beyond four bytes"):
        location_from_proto(EntryLocation(key="a", offset=END, length=2))
    with pytest.raises(Corrupt, match="empty or too long"):
        location_from_proto(EntryLocation(offset=1, length=2))


@pytest.mark.parametrize("key", ["", "k" * 65536, "\ud800"])
def test_a_key_that_can_not_be_written_is_refused(key):
    with pytest.raises(Invalid, match="key"):
        Location(key, 0, 1, 1)


def test_an_id_beyond_eight_bytes_is_refused():
    with pytest.raises(Invalid, match="eight bytes"):
        MetaInfo(2**64, BASE)


def test_a_location_says_where_it_is():
    assert str(BASE) == "metadata/ä.columns at 24, 4096 bytes"
