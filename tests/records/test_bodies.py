"""Bodies in parts, and ids that only grow."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.records import bodies, layout
from lakebed.store import MemoryStore
from lakebed.store.limits import VALUE_BYTES
from lakebed.store.tuples import pack_element

GOLDEN = json.loads((Path(__file__).parent.parent / "golden/bodies.json").read_text())

TABLE = str(UUID(int=1))
SIZES = [0, 1, bodies.PART_BYTES - 1, bodies.PART_BYTES, bodies.PART_BYTES + 1, 250_000]


@pytest.fixture
def store():
    return MemoryStore()


def save(store, body, number=1, kind="schema"):
    store.run(lambda transaction: bodies.save_body(transaction, TABLE, kind, number, body))


def load(store, *wanted):
    return store.read(lambda transaction: bodies.load_bodies(transaction.snapshot, wanted))


def part_key(part, number=1):
    return layout.body_prefix(TABLE, "schema", number) + pack_element(part)


def rows(store):
    range = layout.prefix_range(layout.body_prefix(TABLE, "schema", 1))
    return store.read(lambda transaction: transaction.get_range(range)).entries


def some_bytes(size):
    return bytes(index * 7 % 251 for index in range(size))


@pytest.mark.parametrize("size", SIZES)
def test_a_body_of_any_size_comes_back(store, size):
    body = some_bytes(size)
    save(store, body)
    assert load(store, (TABLE, "schema", 1)) == [body]
    assert all(len(value) <= VALUE_BYTES for _, value in rows(store))
    assert len(rows(store)) == max(1, -(-size // bodies.PART_BYTES))


def test_bodies_are_told_apart_by_table_kind_and_id(store):
    other = str(UUID(int=2))
    save(store, b"one", 1)
    save(store, b"two", 2)
    save(store, b"spec", 1, "spec")
    wanted = [
        (TABLE, "schema", 2),
        (TABLE, "schema", 1),
        (TABLE, "spec", 1),
        (TABLE, "schema", 3),
        (other, "schema", 1),
    ]
    assert load(store, *wanted) == [b"two", b"one", b"spec", None, None]
    assert load(store) == []


def test_the_golden_bytes_of_a_body_and_of_an_allocator(store):
    body = some_bytes(bodies.PART_BYTES + 3)
    save(store, body)
    store.run(lambda transaction: bodies.allocate(transaction, TABLE, "field", 40))
    allocator = store.read(lambda transaction: transaction.get(layout.allocator_key(TABLE, "field")))
    first, second = (value for _, value in rows(store))
    assert {
        "first part begins": first[:16].hex(),
        "first part ends": first[-8:].hex(),
        "second part": second.hex(),
        "allocator": allocator.hex(),
    } == GOLDEN


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_body_that_lost_a_part_is_corrupt_and_never_a_shorter_body(store, part):
    save(store, some_bytes(250_000))
    store.run(lambda transaction: transaction.clear(part_key(part)))
    with pytest.raises(Corrupt, match="has a part missing"):
        load(store, (TABLE, "schema", 1))


def test_parts_that_changed_places_are_corrupt(store):
    save(store, some_bytes(250_000))
    (_, first), (_, second), _ = rows(store)

    def swap(transaction):
        transaction.set(part_key(0), second)
        transaction.set(part_key(1), first)

    store.run(swap)
    with pytest.raises(Corrupt):
        load(store, (TABLE, "schema", 1))


def test_a_part_too_many_is_corrupt_and_never_a_longer_body(store):
    save(store, b"short")
    [(_, value)] = rows(store)
    store.run(lambda transaction: transaction.set(part_key(1), value))
    with pytest.raises(Corrupt, match="one too many"):
        load(store, (TABLE, "schema", 1))


def test_a_body_never_changes(store):
    """Else a state of the past would change with it."""
    save(store, some_bytes(250_000))
    save(store, some_bytes(250_000))
    with pytest.raises(Invalid, match=r"schema 1 of table .*never changes"):
        save(store, b"short")
    assert load(store, (TABLE, "schema", 1)) == [some_bytes(250_000)]


@given(st.binary(max_size=40), st.data())
def test_a_flipped_bit_or_a_cut_part_is_corrupt(body, data):
    store = MemoryStore()
    save(store, body)
    [(key, value)] = rows(store)
    place = data.draw(st.integers(0, 8 * len(value) - 1))
    flipped = bytearray(value)
    flipped[place // 8] ^= 1 << place % 8
    for broken in (bytes(flipped), value[: data.draw(st.integers(0, len(value) - 1))]):
        store.run(lambda transaction, broken=broken: transaction.set(key, broken))
        with pytest.raises(Corrupt):
            load(store, (TABLE, "schema", 1))


# Ids


def allocate(store, count, kind="field", table=TABLE):
    return store.run(lambda transaction: bodies.allocate(transaction, table, kind, count)).value


@given(st.lists(st.integers(1, 1000), max_size=10))
def test_ids_only_grow_and_none_is_given_twice(counts):
    store = MemoryStore()
    given_out = []
    for count in counts:
        first = allocate(store, count)
        given_out += range(first, first + count)
    assert given_out == list(range(1, sum(counts) + 1))


def test_each_table_and_kind_has_ids_of_its_own(store):
    assert allocate(store, 5) == 1
    assert allocate(store, 1, "schema") == 1
    assert allocate(store, 1, table=str(UUID(int=2))) == 1
    assert allocate(store, 1) == 6


@pytest.mark.parametrize("count", [0, -1, 2**63, 2**64, 2**200])
def test_a_number_of_ids_that_can_not_be_is_invalid_and_takes_none(store, count):
    with pytest.raises(Invalid, match="field ids of table"):
        allocate(store, count)
    assert allocate(store, 1) == 1


def test_ids_never_leave_64_bits(store):
    assert allocate(store, 2**63 - 2) == 1
    with pytest.raises(Invalid):
        allocate(store, 1)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "bare"])
def test_a_damaged_allocator_is_corrupt_and_never_gives_an_id_twice(store, damage):
    allocate(store, 300)
    key = layout.allocator_key(TABLE, "field")
    value = store.read(lambda transaction: transaction.get(key))
    broken = {
        "flip": value[:8] + bytes((value[8] ^ 1,)) + value[9:],
        "cut": value[:-1],
        "empty": b"",
        "bare": (301).to_bytes(8),
    }[damage]
    store.run(lambda transaction: transaction.set(key, broken))
    with pytest.raises(Corrupt):
        allocate(store, 1)
