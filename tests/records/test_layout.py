"""Keys are the tuples that the layout's page says, and sort as they do."""

import json
from itertools import combinations
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.records import layout
from lakebed.records.layout import Attribute, Space
from lakebed.store import Version
from lakebed.store.tuples import pack, unpack

GOLDEN = json.loads((Path(__file__).parent.parent / "golden/keys.json").read_text())

LINE = "11111111-1111-4111-8111-111111111111"
PARENT = "22222222-2222-4222-8222-222222222222"
OBJECT = "33333333-3333-4333-8333-333333333333"
EVENT = "44444444-4444-4444-8444-444444444444"
VERSION = Version.parse(7_000_000)

line, parent, object_id, event = map(UUID, (LINE, PARENT, OBJECT, EVENT))
at_version = layout.version_element(VERSION)
life = layout.attribute_cell(OBJECT, Attribute.LIFE)
orders = layout.name_cell(PARENT, "orders")
dropped = layout.dropped_cell(PARENT, "orders", OBJECT)

# One key of every space, and the tuple that docs/internals/records.md gives it.
KEYS = {
    "lake": (layout.lake_key(), (0,)),
    "current": (life.current_key(LINE), (1, line, object_id, 1)),
    "history": (life.history_prefix(LINE) + at_version, (2, line, object_id, 1, VERSION)),
    "name": (orders.current_key(LINE), (3, line, parent, "orders")),
    "name history": (orders.history_prefix(LINE) + at_version, (4, line, parent, "orders", VERSION)),
    "dropped": (dropped.current_key(LINE), (5, line, parent, "orders", object_id)),
    "dropped history": (dropped.history_prefix(LINE) + at_version, (6, line, parent, "orders", object_id, VERSION)),
    "listing": (layout.listing_key(LINE, PARENT), (7, line, parent)),
    "commit": (layout.commit_key(EVENT), (8, event)),
    "log": (layout.log_prefix(LINE) + at_version, (9, line, VERSION)),
    "table commit": (layout.table_commit_prefix(LINE, OBJECT) + at_version, (10, line, object_id, VERSION)),
    "children": (layout.children_prefix("p", PARENT) + layout.id_element(OBJECT), (11, "p", parent, object_id)),
    "allocator": (layout.allocator_key(OBJECT, "field"), (12, object_id, "field")),
    "body": (layout.body_prefix(OBJECT, "schema", 3) + pack((0,)), (13, object_id, "schema", 3, 0)),
    "operations": (layout.operations_prefix(EVENT) + pack((0,)), (14, event, 0)),
    "checkpoint": (layout.checkpoint_prefix(LINE, OBJECT) + at_version, (15, line, object_id, VERSION)),
    "intent": (layout.intent_key(LINE, OBJECT, EVENT), (16, line, object_id, event)),
}

versions = st.binary(min_size=12, max_size=12).map(Version)
ids = st.uuids().map(str)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("space", KEYS)
def test_a_key_is_the_documented_tuple_and_has_the_golden_bytes(space):
    key, documented = KEYS[space]
    assert unpack(key) == documented
    assert key == pack(documented)
    assert key.hex() == GOLDEN[space]


def test_every_space_has_a_documented_key():
    assert [documented[0] for _, documented in KEYS.values()] == [int(space) for space in Space]
    assert list(GOLDEN) == list(KEYS)


def test_no_space_is_inside_another():
    for one, other in combinations(layout.PREFIX.values(), 2):
        assert not one.startswith(other) and not other.startswith(one)
    ranges = [layout.prefix_range(layout.PREFIX[space]) for space in Space]
    assert all(not one.overlaps(other) for one, other in combinations(ranges, 2))


def test_the_numbers_of_spaces_and_attributes_are_the_format():
    assert {space.name: int(space) for space in Space} == {
        "LAKE": 0,
        "CURRENT": 1,
        "HISTORY": 2,
        "NAME": 3,
        "NAME_HISTORY": 4,
        "DROPPED": 5,
        "DROPPED_HISTORY": 6,
        "LISTING": 7,
        "COMMIT": 8,
        "LOG": 9,
        "TABLE_COMMIT": 10,
        "CHILDREN": 11,
        "ALLOCATOR": 12,
        "BODY": 13,
        "OPERATIONS": 14,
        "CHECKPOINT": 15,
        "INTENT": 16,
    }
    assert {attribute.name: int(attribute) for attribute in Attribute} == {
        "LIFE": 1,
        "PROPERTIES": 2,
        "STORAGE": 3,
        "SCHEMA": 4,
        "SPEC": 5,
        "SORT": 6,
        "DATA": 7,
        "VIEW": 8,
        "REF": 9,
        "PARTITION": 10,
    }


@given(st.sampled_from([life, orders, dropped]), versions, versions)
def test_version_order_is_key_order(cell, one, other):
    prefix = cell.history_prefix(LINE)
    first, second = (prefix + layout.version_element(version) for version in (one, other))
    assert (first < second) == (one < other) == (int(one) < int(other))
    assert layout.key_version(first) == one
    assert layout.versions_up_to(prefix, other).contains(first) == (one <= other)
    assert layout.versions_before(prefix, other).contains(first) == (one < other)
    assert layout.versions_after(prefix, other).contains(first) == (one > other)


@given(names, names, versions)
def test_a_names_history_holds_no_row_of_another_name(one, other, version):
    history = layout.prefix_range(layout.name_cell(PARENT, one).history_prefix(LINE) + b"\x33")
    key = layout.name_cell(PARENT, other).history_prefix(LINE) + layout.version_element(version)
    assert history.contains(key) == (one == other)


@given(names, names)
def test_names_in_a_parent_are_in_the_order_of_their_code_points(one, other):
    first, second = (layout.name_cell(PARENT, name).current_key(LINE) for name in (one, other))
    assert (first < second) == (one.encode() < other.encode())


@given(st.integers(0, 65535), versions, st.binary(min_size=10, max_size=10))
def test_a_pending_key_becomes_the_key_of_the_version_that_the_commit_gets(incarnation, version, stamp):
    prefix = life.history_prefix(LINE)
    key, offset = layout.pending(prefix, incarnation)
    assert key[:offset] + stamp + key[offset + 10 :] == prefix + layout.version_element(Version.of(incarnation, stamp))
    value, offset = layout.pending_value(incarnation, b"rest")
    assert value[:offset] + stamp + value[offset + 10 :] == Version.of(incarnation, stamp) + b"rest"


@given(ids)
def test_an_id_comes_back_from_its_element(text):
    element = layout.id_element(text)
    assert len(element) == layout.ID_SIZE
    assert layout.id_text(element) == text
    assert unpack(element) == (UUID(text),)


@pytest.mark.parametrize(
    "text", ["", "orders", LINE.upper().replace("1", "A"), "{" + LINE + "}", LINE.replace("-", ""), None, 7, line, b"1"]
)
def test_what_is_no_id_is_invalid(text):
    with pytest.raises(Invalid, match="not an id"):
        layout.id_element(text)


@pytest.mark.parametrize("element", [b"", b"\x30" + bytes(15), b"\x31" + bytes(16), b"\x30" + bytes(17)])
def test_a_key_without_an_id_is_corrupt(element):
    with pytest.raises(Corrupt):
        layout.id_text(element)


@pytest.mark.parametrize("key", [b"", b"\x33" + bytes(11), b"\x32" + bytes(12), KEYS["commit"][0]])
def test_a_key_without_a_version_is_corrupt(key):
    with pytest.raises(Corrupt):
        layout.key_version(key)
