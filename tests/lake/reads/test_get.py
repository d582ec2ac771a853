"""A row by its primary key: the right one, and with few files opened."""

import datetime
import decimal
import uuid
from decimal import Decimal

import pyarrow
import pytest

from lakebed.errors import Invalid


@pytest.fixture
def table(main):
    main.create_namespace("s")
    schema = {"id": "long", "name": "string"}
    return main.create_table("s.t", schema, primary_key=["id"], properties={"write.inline-bytes": "0"})


def ids(*values, name="x"):
    return pyarrow.table({"id": pyarrow.array(values, pyarrow.int64()), "name": [name] * len(values)})


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def test_one_file_of_a_thousand_is_opened(table, opened):
    table.append(ids(*range(0, 2000, 2)))
    table.compact(target_bytes=1)
    table.checkpoint()
    assert len(entries(table)) == 1000
    for one in (0, 2, 998, 1998):
        opened.clear()
        assert table.get(one) == {"id": one, "name": "x"}
        assert len(opened) == 1
    opened.clear()
    assert [table.get(one) for one in (-1, 1, 999, 2000)] == [None] * 4
    assert opened == []


def test_of_level_0_the_newest_is_opened_first_and_no_other_after_a_hit(table, opened):
    for number in range(5):
        table.append(ids(0, 5, 10, name=f"round {number}"))
    opened.clear()
    assert table.get(5) == {"id": 5, "name": "round 4"}
    assert len(opened) == 1
    opened.clear()
    assert table.get(6) is None
    assert len(opened) == 5


def test_level_0_is_looked_at_before_level_1_which_is_not_after_a_hit(table, opened):
    table.append(ids(1, 5, 9, name="old"))
    table.compact()
    table.upsert(ids(5, name="new"))
    opened.clear()
    assert table.get(5)["name"] == "new"
    assert len(opened) == 1
    assert table.get(1)["name"] == "old"


def test_long_keys_that_begin_alike_are_told_apart_by_their_bounds(main, opened):
    """Statistics are cut at 32 bytes; the bounds of a compacted file are not."""
    main.create_namespace("s")
    table = main.create_table("s.t", {"id": "string"}, primary_key=["id"])
    names = [f"{'x' * 60}{one:03}" for one in range(100)]
    table.append(pyarrow.table({"id": names}))
    table.compact(target_bytes=1)
    assert len(entries(table)) == 100
    opened.clear()
    assert table.get(names[42]) == {"id": names[42]}
    assert len(opened) == 1


@pytest.mark.parametrize("sort_by", [(), ("name",)])
def test_what_is_compacted_later_is_not_newer_for_it(main, table, sort_by):
    with table.evolve() as change:
        change.sort_by(sort_by)
    table.append(ids(5, 9, name="first"))
    table.append(ids(5, name="second"))
    table.delete("id = 9")
    table.append(ids(5, 9, name="third"))
    table.append(ids(5, name="fourth"))
    table.compact(where="id = 9")
    assert [one.num_rows for one in entries(table)].count(1) == 2
    assert table.get(5)["name"] == "fourth"
    table.delete("name = 'fourth'")
    assert table.get(5)["name"] == "third"
    table.delete("name = 'third'")
    assert table.get(5)["name"] == "second"
    table.compact()
    assert table.get(5)["name"] == "second"


def test_a_row_of_a_branch_with_a_longer_history_stays_the_newest_in_a_compaction(main, table):
    """Sequence numbers are a line's own, so those of rows may be above that of the commit that compacts them."""
    dev = main.create_branch("dev")
    for one in range(10):
        dev.table("s.t").append(ids(100 + one))
    main.merge(dev)
    table.append(ids(105, name="dup"))
    before = [table.get(100 + one) for one in range(10)]
    table.compact()
    assert [table.get(100 + one) for one in range(10)] == before
    table.append(ids(106, name="dup"))
    before = [table.get(100 + one) for one in range(10)]
    table.compact()
    assert [table.get(100 + one) for one in range(10)] == before


def test_a_transaction_finds_what_it_wrote_last(main, table):
    table.append(ids(1, 2, name="old"))
    with main.transaction("all") as tx:
        inside = tx.table("s.t")
        inside.append(ids(1, name="first"))
        inside.append(ids(1, 3, name="second"))
        assert inside.get(1)["name"] == "second"
        inside.upsert(ids(2, name="new"))
        assert [inside.get(one)["name"] for one in (2, 3)] == ["new", "second"]
        inside.delete("id = 3")
        assert inside.get(3) is None
    assert table.get(1)["name"] == "second"


def test_deleted_rows_are_not_found(table):
    table.append(ids(*range(10)))
    table.compact()
    table.delete("id = 5")
    assert table.get(5) is None
    table.compact()
    assert table.get(5) is None


KEYS = {
    "int": [-5, 0, 7],
    "string": ["", "a", "a\x00", "é"],
    "binary": [b"", b"\x00", b"\xff"],
    "boolean": [False, True],
    "date": [datetime.date(1960, 1, 1), datetime.date(2026, 1, 1)],
    "timestamptz": [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)],
    "decimal(10, 2)": [decimal.Decimal("-1.50"), decimal.Decimal("2.25")],
    "uuid": [uuid.UUID(int=1), uuid.UUID(int=2**127 + 5)],
}


@pytest.mark.parametrize("type", KEYS)
def test_keys_of_every_type_are_found_before_and_after_a_compaction(main, type):
    main.create_namespace("s")
    table = main.create_table("s.t", {"key": type, "place": "int"}, primary_key=["key"])
    form = table.scan().to_arrow().schema
    values = KEYS[type]
    for place, value in enumerate(values):
        table.append(pyarrow.Table.from_pylist([{"key": value, "place": place}], form))
    for _ in range(2):
        assert [table.get(value)["place"] for value in values] == list(range(len(values)))
        table.compact(target_bytes=1)
    assert {one.level for one in entries(table)} == {1}
    assert len(entries(table)) == len(values)


def test_a_key_that_is_none_is_refused(main, table):
    plain = main.create_table("s.plain", {"id": "long"})
    for call, match in (
        (lambda: plain.get(1), "no primary key"),
        (lambda: table.get(), "wrong number of values"),
        (lambda: table.get(1, 2), "wrong number of values"),
        (lambda: table.get(None), "null"),
        (lambda: table.get("one"), "wrong type"),
    ):
        with pytest.raises(Invalid, match=match):
            call()


def test_a_key_of_one_and_a_half_gave_the_row_of_one(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, primary_key=["id"])
    table.append(pyarrow.table({"id": [1], "note": ["a"]}))
    assert table.get(1) == {"id": 1, "note": "a"}
    for key in (1.5, 1.0, Decimal("1.5"), True, "1"):
        with pytest.raises(Invalid, match="id: a key's value has the wrong type"):
            table.get(key)


def test_a_time_as_a_key_gave_the_row_of_its_day(main):
    table = main.create_table("t", {"day": "date"}, primary_key=["day"])
    table.append(pyarrow.table({"day": [datetime.date(2026, 1, 1)]}))
    assert table.get(datetime.date(2026, 1, 1)) == {"day": datetime.date(2026, 1, 1)}
    with pytest.raises(Invalid, match="day: a key's value has the wrong type"):
        table.get(datetime.datetime(2026, 1, 1, 5))


def test_a_key_with_a_zone_gave_a_row_that_has_none(main):
    table = main.create_table("t", {"at": "timestamp"}, primary_key=["at"])
    table.append(pyarrow.table({"at": pyarrow.array([datetime.datetime(2026, 1, 1)], pyarrow.timestamp("us"))}))
    assert table.get(datetime.datetime(2026, 1, 1)) is not None
    with pytest.raises(Invalid, match="at: a key's value has the wrong type"):
        table.get(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
