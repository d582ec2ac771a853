"""System tables of a table with several editions: of the one that is active, and of each by its name."""

import pytest

SYSTEM = (
    "__snapshots",
    "__files",
    "__changes",
    "__manifests",
    "__segments",
    "__blocks",
    "__schemas",
    "__storage",
    "__deltas",
)


@pytest.fixture
def orders(main):
    """Edition 2 is active: other columns, three schemas, two rows."""
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long"})
    table.append([{"id": 1}])
    second = table.create_edition("2", {"name": "string"}, partition_by=["name"])
    for number in range(2):
        with second.evolve() as change:
            change.add_column(f"more_{number}", "int")
    second.append([{"name": "a"}, {"name": "b"}])
    table.activate("2")
    table.create_edition("3")
    return table


def of(main, system, name, *columns):
    return main.inspect(system, where=f"table_name = '{name}'", columns=columns or None).to_pylist()


def test_the_schemas_of_a_table_are_those_of_its_active_edition(main, orders):
    """They were those of the first one."""
    shown = of(main, "__schemas", "sales.orders", "schema_id", "columns", "is_current")
    assert [(one["columns"], one["is_current"]) for one in shown] == [
        (["name"], False),
        (["name", "more_0"], False),
        (["name", "more_0", "more_1"], True),
    ]
    assert orders.schema.id == shown[-1]["schema_id"]


@pytest.mark.parametrize("system", SYSTEM)
def test_each_edition_is_inspected_by_its_name(main, orders, system):
    active = of(main, system, "sales.orders.edition_2")
    assert len(active) == len(of(main, system, "sales.orders")) > 0
    assert {row["table_name"] for row in active} == {"sales.orders.edition_2"}
    first = [one | {"table_name": "sales.orders"} for one in of(main, system, "sales.orders.edition_1")]
    assert first
    orders.activate("1")
    shown = of(main, system, "sales.orders")
    if system == "__storage":  # the activation is a change of it
        first[-1]["is_current"] = False
    assert shown[: len(first)] == first


def test_a_name_of_no_edition_has_no_rows(main, orders):
    for name in ("sales.orders.edition_9", "sales.none.edition_1", "sales.orders.edition_", "a||b", "edition_1"):
        assert of(main, "__files", name) == []
    names = "table_name IN ('sales.orders', 'sales.orders.edition_1', 'x')"
    found = main.inspect("__files", where=names).to_pylist()
    assert [row["table_name"] for row in found] == ["sales.orders", "sales.orders", "sales.orders.edition_1"]
    assert {row["table_name"] for row in main.inspect("__files").to_pylist()} == {"sales.orders"}


def test_the_past_of_an_edition_is_inspected_by_its_name(main, orders):
    then = main.at(version=orders.history()[-1].version)
    assert of(then, "__files", "sales.orders.edition_1") == []
    assert of(then, "__files", "sales.orders.edition_2") == []
    past = main.at(version=main.version)
    orders.edition("2").truncate()
    assert len(of(past, "__files", "sales.orders.edition_2")) == 2
    assert of(main, "__files", "sales.orders.edition_2") == []


@pytest.mark.parametrize("system", sorted({*SYSTEM} - {"__schemas", "__storage", "__segments", "__blocks"}))
def test_what_is_staged_in_a_stream_is_inspected_by_its_name(main, orders, system):
    """Its rows could be read, and how they were stored could not be seen before its commit."""
    staged = orders.stage_stream()
    staged.append([{"name": "x"}])
    staged.append([{"name": "y"}])
    shown = of(main, system, f"sales.orders.edition_2.stream_{staged.stream_id}")
    assert len(shown) == {"__files": 2, "__changes": 2}.get(system, 3)
    assert {row["table_uuid"] for row in shown} == {orders.id}
    assert {row["namespace"] for row in shown} == {"sales"}


def test_a_staged_partition_shows_its_files_and_deltas(main):
    """It had no rows in `__partitions`, and no delta, before its commit."""
    table = main.create_table("t", {"id": "long", "day": "string"}, partition_by=["day"])
    staged = table.stage_partition({"day": "mon"})
    for number in range(2):
        staged.append([{"id": number}])
    [shown] = main.inspect("__partitions", where="state = 'staged'").to_pylist()
    assert (shown["rows"], shown["files"]) == (2, 2)
    deltas = main.inspect("__deltas", where=f"partition_id = '{staged.id}'").to_pylist()
    assert [one["stream_position"] for one in deltas] == [1, 2]
    assert [one["canonical"] for one in deltas] == [str(one.locator) for one in reversed(staged.deltas())]
