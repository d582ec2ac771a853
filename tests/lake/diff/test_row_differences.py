"""The rows of a difference: which rows differ, how they are shown, and what is read for them."""

import pickle
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Difference, Invalid, RowDifference


@pytest.fixture
def items(main: Catalog, in_files):
    main.create_namespace("s")
    table = main.create_table("s.items", {"id": "long", "name": "string", "price": "double"}, primary_key=["id"])
    table.append(some(1, 2, 3, 4))
    return table


def some(*ids: int, name: str = "pen") -> list[dict]:
    return [{"id": id, "name": name, "price": float(id)} for id in ids]


def lines(difference: Difference, **asked) -> list[str]:
    return [str(row) for row in difference.rows(**asked)]


def test_each_row_is_printed_as_one_line(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").update({"price": "3"}, "id = 2")
    dev.table("s.items").delete("id = 1")
    dev.table("s.items").append(some(7, name="ink"))
    [difference] = main.diff(dev)
    assert str(difference.rows()).splitlines() == [
        "- id = 1  name: 'pen', price: 1.0",
        "~ id = 2  price: 2.0 -> 3.0",
        "+ id = 7  name: 'ink', price: 7.0",
    ]
    assert str(difference.summary()) == "1 inserted, 1 deleted, 1 updated (cells: price 1)"
    [_, changed, _] = difference.rows()
    assert changed == RowDifference(
        "updated",
        {"id": 2},
        changed.row_id,
        ("price",),
        {"id": 2, "name": "pen", "price": 2.0},
        {"id": 2, "name": "pen", "price": 3.0},
    )


def test_the_other_direction_shows_the_reverse(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").update({"price": "3"}, "id = 2")
    dev.table("s.items").delete("id = 1")
    assert lines(dev.diff(main)[0]) == ["+ id = 1  name: 'pen', price: 1.0", "~ id = 2  price: 3.0 -> 2.0"]
    assert lines(dev.diff(dev.at(main.version))[0]) == lines(dev.diff(main)[0])


def test_a_row_that_was_deleted_and_inserted_again_under_its_key_is_an_update(main, items):
    before = main.version
    items.delete("id = 4")
    items.append(some(4, name="cap"))
    assert lines(main.at(before).diff(main)[0]) == ["~ id = 4  name: 'pen' -> 'cap'"]
    items.delete("id = 4")
    items.append(some(4))
    assert lines(main.at(before).diff(main)[0]) == []


def test_a_row_whose_key_was_changed_is_an_update_of_the_key(main, items):
    before = main.version
    items.update({"id": "40"}, "id = 4")
    assert lines(main.at(before).diff(main)[0]) == ["~ id = 40  id: 4 -> 40"]


def test_without_a_key_rows_are_known_by_their_ids(main):
    table = main.create_table("t", {"v": "string"})
    table.append([{"v": "a"}, {"v": "b"}])
    before = main.version
    table.update({"v": "'c'"}, "v = 'b'")
    table.delete("v = 'a'")
    table.append([{"v": "a"}])
    [gone, changed, come] = main.at(before).diff(main)[0].rows()
    assert (gone.change, changed.change, come.change) == ("deleted", "updated", "inserted")
    assert str(changed) == f"~ row {changed.row_id}  v: 'b' -> 'c'"
    assert "key" not in main.at(before).diff(main)[0].rows().to_arrow().column_names


def test_a_compaction_makes_no_row_differ_and_no_data_file_is_opened_for_it(main, items, opened):
    before = main.version
    items.append(some(8))
    middle = main.version
    items.compact()
    opened.clear()
    assert list(main.at(middle).diff(main)[0].rows()) == []
    assert opened == []
    assert lines(main.at(before).diff(main)[0]) == ["+ id = 8  name: 'pen', price: 8.0"]


def test_only_files_that_differ_are_opened(main, items, opened):
    before = main.version
    items.append(some(8))
    opened.clear()
    assert main.at(before).diff(main)[0].summary().inserted == 1
    assert opened == []
    assert len(list(main.at(before).diff(main)[0].rows())) == 1
    assert len(opened) == 1


def test_a_limit_opens_no_more_files_than_it_needs(main, items, opened):
    before = main.version
    for number in range(5):
        items.append(some(10 + number))
    opened.clear()
    assert len(list(main.at(before).diff(main)[0].rows(limit=2))) == 2
    assert len(opened) == 2
    opened.clear()
    next(iter(main.at(before).diff(main)[0].rows()))
    assert len(opened) == 1
    assert main.at(before).diff(main)[0].rows(limit=3).count() == 3
    assert list(main.at(before).diff(main)[0].rows(limit=0)) == []


def test_a_condition_is_tested_on_the_row_as_it_was_and_as_it_is(main, items):
    before = main.version
    items.update({"price": "100"}, "id = 2")
    items.update({"price": "0"}, "id = 3")
    difference = main.at(before).diff(main)[0]
    assert lines(difference, where="price = 100") == lines(difference, where="price = 2")
    assert [row.key["id"] for row in difference.rows(where=lakebed.col("price") < 3)] == [2, 3]
    assert difference.rows(where="price = 100").count() == 1
    assert difference.rows(where="price = 100").summary().updated == 1
    with pytest.raises(Invalid, match="no such column"):
        difference.rows(where="colour = 1")
    with pytest.raises(Invalid, match="two places"):  # it passed in some differences, and failed with others
        difference.rows(where="_row_id = 1")


def test_rows_are_matched_by_the_key_of_the_second_state(main):
    schema = lakebed.Schema([lakebed.Field(name, "long", required=True) for name in ("a", "b")])
    table = main.create_table("t", schema, primary_key=["a"])
    table.append([{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    before = main.version
    with table.evolve() as change:
        change.primary_key(["b"])
    table.delete("b = 2")
    table.append([{"a": 7, "b": 2}])
    assert lines(main.at(before).diff(main)[0]) == ["~ b = 2  a: 2 -> 7"]
    assert lines(main.diff(main.at(before))[0]) == ["+ a = 2  b: 2", "- a = 7  b: 2"]
    with table.evolve() as change:
        change.primary_key([])
    assert [row.change for row in main.at(before).diff(main)[0].rows()] == ["deleted", "inserted"]


def test_rows_whose_key_comes_twice_are_not_matched_by_it(main, items):
    """An append does not check keys by default: which of the rows became which can't be known."""
    before = main.version
    items.delete("id = 4")
    items.append(some(4, 4, name="cap"))
    [difference] = main.at(before).diff(main)
    assert [row.change for row in difference.rows()] == ["deleted", "inserted", "inserted"]
    assert [row.change for row in main.diff(main.at(before))[0].rows()] == ["inserted", "deleted", "deleted"]


def test_only_named_columns_are_compared_and_shown(main, items):
    before = main.version
    items.update({"price": "100"}, "id = 2")
    items.update({"name": "'cap'"}, "id = 3")
    [row] = main.at(before).diff(main)[0].rows(columns=["name"])
    assert (row.key, row.before, row.after) == ({"id": 3}, {"name": "pen"}, {"name": "cap"})
    for wrong in ([], "name", ["colour"]):
        with pytest.raises(Invalid):
            main.at(before).diff(main)[0].rows(columns=wrong)


def test_rows_are_shown_in_the_columns_of_the_second_state(main, items):
    before = main.version
    with items.evolve() as change:
        change.add_column("stock", "int", default=1)
        change.rename_column("name", "title")
        change.drop_column("price")
    assert lines(main.at(before).diff(main)[0]) == []
    items.update({"stock": "5"}, "id = 1")
    assert lines(main.at(before).diff(main)[0]) == ["~ id = 1  stock: 1 -> 5"]
    assert lines(main.diff(main.at(before))[0]) == []  # price comes back with the column, not with the row
    [row] = main.at(before).diff(main)[0].rows()
    assert row.before == {"id": 1, "title": "pen", "stock": 1}


def test_a_widened_column_has_the_wider_type_in_both_directions(main):
    table = main.create_table("t", {"id": "int", "n": "int"}, primary_key=["id"])
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "n": pa.array([1, 2], pa.int32())}))
    before = main.version
    with table.evolve() as change:
        change.widen_column("n", "long")
    table.update({"n": str(2**40)}, "id = 2")
    assert lines(main.at(before).diff(main)[0]) == [f"~ id = 2  n: 2 -> {2**40}"]
    assert lines(main.diff(main.at(before))[0]) == [f"~ id = 2  n: {2**40} -> 2"]


def test_all_rows_of_a_created_table_are_inserted_and_of_a_dropped_one_deleted(main, items):
    dev = main.create_branch("dev")
    dev.create_table("s.new", {"a": "int"}).append([{"a": 1}, {"a": None}])
    assert [row.change for row in main.diff(dev)[0].rows()] == ["inserted"] * 2
    assert [(row.change, row.before) for row in dev.diff(main)[0].rows()] == [
        ("deleted", {"a": 1}),
        ("deleted", {"a": None}),
    ]
    assert dev.diff(main)[0].summary().deleted == 2
    dev.drop_table("s.items")
    [dropped] = [one for one in main.diff(dev) if one.kind == "dropped"]
    assert dropped.rows().count() == 4
    dev.undrop_table("s.items")
    assert all(one.name != "s.items" or one.rows().count() == 0 for one in main.diff(dev))


def test_a_renamed_table_is_compared_with_itself(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").rename("s.goods")
    dev.table("s.goods").delete("id > 1")
    [difference] = main.diff(dev)
    assert (difference.kind, difference.rows().count()) == ("renamed", 3)


def test_rows_of_another_edition_are_matched_by_their_keys(main, items):
    before = main.version
    items.create_edition("2", {"id": "long", "name": "string", "price": "string"}, primary_key=["id"])
    second = items.edition("2")
    second.append([{"id": 1, "name": "pen", "price": "one"}, {"id": 9, "name": "new", "price": "nine"}])
    items.activate("2")
    found = {(one.type, one.name): one for one in main.at(before).diff(main)}
    assert sorted(lines(found["table", "s.items"])) == [
        "+ id = 9  name: 'new', price: 'nine'",
        "- id = 2  name: 'pen', price: null",
        "- id = 3  name: 'pen', price: null",
        "- id = 4  name: 'pen', price: null",
        "~ id = 1  price: null -> 'one'",
    ]
    assert found["edition", "s.items.edition_2"].rows().count() == 2
    assert found["edition", "s.items.edition_1"].rows().count() == 0


def test_objects_without_rows_say_what_to_compare_instead(main, items):
    dev = main.create_branch("dev")
    dev.create_view("s.v", "select 1")
    dev.namespace("s").set_properties({"a": "b"})
    staged = dev.table("s.items").stage_stream()
    staged.append(some(5))
    for difference in main.diff(dev):
        with pytest.raises(Invalid) as refused:
            difference.rows()
        assert refused.value.advice
    staged.commit()
    [table] = [one for one in main.diff(dev) if one.type == "table"]
    assert sorted(row.change for row in table.rows()) == ["deleted"] * 4 + ["inserted"]


def test_explicit_partitions_are_compared_with_their_table(main):
    table = main.create_table("t", {"day": "int", "v": "int"}, partition_by=["day"])
    before = main.version
    table.create_partition({"day": 1}).append([{"day": 1, "v": 7}])
    [difference] = [one for one in main.at(before).diff(main) if one.type == "table"]
    assert [row.after for row in difference.rows()] == [{"day": 1, "v": 7}]
    table.drop_partition({"day": 1})
    assert [row for one in main.at(before).diff(main) if one.type == "table" for row in one.rows()] == []


def test_a_difference_is_the_same_value_with_and_without_its_states(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").delete("id = 1")
    [one], [same] = main.diff(dev), main.diff(dev)
    assert one == same
    made = Difference(one.kind, one.object_id, one.type, one.name, files_changed=1, rows_removed=1)
    assert (made, str(made), repr(made)) == (one, str(one), repr(one))
    with pytest.raises(Invalid, match=r"diff\(\)"):
        made.rows()
    with pytest.raises(Invalid, match="pickled"):
        pickle.dumps(one.rows())


def test_a_difference_keeps_its_two_states_whatever_is_committed_later(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").delete("id = 1")
    [difference] = main.diff(dev)
    dev.table("s.items").truncate()
    items.truncate()
    assert lines(difference) == ["- id = 1  name: 'pen', price: 1.0"]


def test_a_notebook_marks_the_cells_that_differ_and_escapes_values(main, items):
    before = main.version
    items.update({"name": "'<b>'"}, "id = 2")
    difference = main.at(before).diff(main)[0]
    shown = difference.rows()._repr_html_()
    assert "<del>&#x27;pen&#x27;</del> <ins><b>&#x27;&lt;b&gt;&#x27;</b></ins>" in shown
    assert "<td>2.0</td>" in shown
    assert "<td>name</td><td>1</td>" in difference.summary()._repr_html_()
    for number in range(30):
        items.append(some(100 + number))
    assert str(main.at(before).diff(main)[0].rows()).splitlines()[-1].startswith("and more")
    assert "and more" in main.at(before).diff(main)[0].rows()._repr_html_()


def test_values_of_every_shape_are_compared(main):
    types = {
        "id": "uuid",
        "when": "timestamp_ns",
        "tags": "list<string>",
        "at": "struct<x: double, y: double>",
        "map": "map<string, int>",
        "bytes": "binary",
        "money": "decimal(10, 2)",
        "real": "double",
    }
    table = main.create_table("t", types, primary_key=["id"])
    row = {"tags": ["a"], "at": {"x": 1.0, "y": None}, "map": {"k": 1}, "bytes": b"x", "real": float("nan")}
    ids = [UUID(int=number) for number in range(6)]
    table.append([{"id": id, **row, "when": None, "money": Decimal("1.00")} for id in ids])
    before = main.version
    changes = {"tags": ["b"], "at": {"x": 1.0, "y": 0.0}, "map": {"k": 2}, "bytes": b"y", "money": Decimal("1.01")}
    table.upsert([{"id": id, name: value} for id, (name, value) in zip(ids, changes.items(), strict=False)][:1])
    for id, (name, value) in zip(ids, changes.items(), strict=False):
        table.upsert([{"id": id, name: value}])
    table.upsert([{"id": ids[5], "real": float("nan")}])
    found = list(main.at(before).diff(main)[0].rows())
    assert {row.key["id"]: row.columns for row in found} == {
        id: (name,) for id, name in zip(ids, changes, strict=False)
    }


def test_values_that_python_does_not_have_are_shown_as_text(main):
    table = main.create_table("t", {"id": "long", "when": "timestamp_ns"}, primary_key=["id"])
    before = main.version
    table.append(pa.table({"id": [1], "when": pa.array([1], pa.timestamp("ns"))}))
    assert lines(main.at(before).diff(main)[0])[0].startswith("+ id = 1  when: ")
    assert table.blame(1).key == {"id": 1}
