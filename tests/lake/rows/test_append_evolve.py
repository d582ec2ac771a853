"""Appends that give their table the columns that it lacks."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Table
from lakebed.errors import Invalid


@pytest.fixture
def orders(main: Catalog) -> Table:
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long", "price": "double"})
    table.append(pa.table({"id": [1], "price": [1.0]}))
    return table


MORE = pa.table({"id": [2], "note": ["new"], "size": pa.array([7], pa.int32())})


@pytest.mark.parametrize(
    "form", [lambda: MORE, lambda: MORE.to_pandas(), lambda: MORE.to_reader(), lambda: MORE.to_batches()[0]]
)
def test_columns_that_the_table_lacks_come_with_their_rows_in_one_commit(orders: Table, form: Any) -> None:
    before = len(orders.history())
    commit = orders.append(form(), evolve="add", message="more")
    assert commit is not None
    assert commit.message == "more"
    assert [one.type for one in commit.operations][-1:] == ["insert"]
    assert len(orders.history()) == before + 1
    assert orders.schema.names == ("id", "price", "note", "size")
    assert orders.scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "price": 1.0, "note": None, "size": None},
        {"id": 2, "price": None, "note": "new", "size": 7},
    ]


def test_without_being_asked_an_append_adds_no_column(orders: Table) -> None:
    with pytest.raises(Invalid, match="note"):
        orders.append(MORE)
    assert orders.schema.names == ("id", "price")


def test_another_way_to_evolve_is_refused(orders: Table) -> None:
    with pytest.raises(Invalid, match="'add'"):
        orders.append(MORE, evolve="widen")  # type: ignore[arg-type]


def test_rows_that_do_not_fit_leave_the_schema_as_it_was(orders: Table) -> None:
    with pytest.raises(Invalid):
        orders.append(pa.table({"id": ["no number"], "note": ["new"]}), evolve="add")
    assert orders.schema.names == ("id", "price")
    assert orders.scan().count() == 1


def test_nothing_new_is_a_plain_append(orders: Table) -> None:
    schema = orders.schema.id
    orders.append(pa.table({"ID": [2]}), evolve="add")
    assert (orders.schema.id, orders.scan().count()) == (schema, 2)


def test_fields_inside_structs_lists_and_maps_are_added(main: Catalog) -> None:
    main.create_namespace("sales")
    table = main.create_table("sales.nested", lakebed.Schema({"s": "struct<a: int>", "l": "list<struct<a: int>>"}))
    table.append(
        pa.table({"s": [{"a": 1}], "l": [[{"a": 1}]]}).cast(
            pa.schema({"s": pa.struct({"a": pa.int32()}), "l": pa.list_(pa.struct({"a": pa.int32()}))})
        )
    )
    inner = pa.struct({"a": pa.int32(), "b": pa.string()})
    more = pa.table(
        {"s": pa.array([{"a": 2, "b": "x"}], inner), "l": pa.array([[{"a": 2, "b": "y"}]], pa.list_(inner))}
    )
    table.append(more, evolve="add")
    assert table.scan().to_arrow().to_pylist() == [
        {"s": {"a": 1, "b": None}, "l": [{"a": 1, "b": None}]},
        {"s": {"a": 2, "b": "x"}, "l": [{"a": 2, "b": "y"}]},
    ]


def test_a_transaction_has_the_new_columns_at_once(main: Catalog, orders: Table) -> None:
    with main.transaction("both") as change:
        table = change.table("sales.orders")
        table.append(MORE, evolve="add")
        assert table.scan(where="note = 'new'").count() == 1
        table.append(pd.DataFrame({"id": [3], "third": [True]}), evolve="add")
    assert orders.schema.names == ("id", "price", "note", "size", "third")
    assert orders.scan().count() == 3


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("call", ["append", "overwrite"])
@pytest.mark.parametrize("is_new", [False, True])
def test_a_transaction_that_went_on_after_an_append_failed_committed_its_columns(
    main: Catalog, orders: Table, files: Any, call: str, is_new: bool
) -> None:
    before = set(files())
    with main.transaction("a part of it") as change:
        table = change.create_table("sales.new", orders.schema) if is_new else change.table("sales.orders")
        table.append(pa.table({"id": [2]}))
        seen = table.schema, table.scan().to_arrow()
        with pytest.raises(Invalid, match="id"):
            getattr(table, call)(pa.table({"id": ["no number"], "note": ["new"]}), evolve="add")
        assert (table.schema, table.scan().to_arrow()) == seen
        table.append(pa.table({"id": [3], "size": [7]}), evolve="add")
    name = "sales.new" if is_new else "sales.orders"
    assert main.table(name).schema.names == ("id", "price", "size")
    assert sorted(main.table(name).scan().to_arrow()["id"].to_pylist()) == ([2, 3] if is_new else [1, 2, 3])
    commit = main.log()[0]
    assert [one.type for one in commit.operations if one.type not in ("create", "insert")] == ["add_column"]
    assert len(set(files()) - before) == 2


def test_an_append_that_evolves_comes_again_as_one(orders: Table) -> None:
    event = lakebed.event_id("load", 1)
    first = orders.append(MORE, evolve="add", event_id=event)
    again = orders.append(MORE, evolve="add", event_id=event)
    assert first == again
    assert orders.scan().count() == 2
    with pytest.raises(Invalid, match="event id"):
        orders.append(MORE, event_id=event)


def test_an_overwrite_adds_columns_too(orders: Table) -> None:
    commit = orders.overwrite(MORE, where="id = 1", evolve="add", message="other columns")
    assert commit is not None
    assert commit.message == "other columns"
    assert orders.scan().to_arrow().to_pylist() == [{"id": 2, "price": None, "note": "new", "size": 7}]
    assert orders.at(version=orders.history()[1].version).scan().to_arrow().to_pylist() == [{"id": 1, "price": 1.0}]
