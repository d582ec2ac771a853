"""Steps of an evolution, taken on states of a table."""

import pytest

from lakebed.catalog.tables import evolution
from lakebed.catalog.tables.evolution import Evolution
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Conflict, Invalid
from lakebed.table.schema.evolution import FIRST


@pytest.fixture
def table(main):
    return main.create_table("t", {"id": "long", "name": "string", "place": "struct<city: string>"})


def begun(table):
    work = table._scope.read()
    return Evolution(table_state(work, table.id), work.base, {}, lambda *_: None)


def add(path, type="int", default=None):
    return evolution.add_column(path, type, required=False, default=default, comment="", position=None)


def test_arguments_tell_any_two_changes_apart():
    steps = [
        add("a"),
        add("a", "long"),
        add("a", "int", 1),
        add("a", "int", "1"),
        evolution.add_column("a", "int", required=False, default=None, comment="", position=FIRST),
        evolution.add_column("a", "int", required=True, default=1, comment="", position=None),
        evolution.drop_column("a"),
        evolution.make_optional("a"),
        evolution.set_comment("a", ""),
        evolution.set_default("a", None),
        evolution.widen_column("a", "long"),
        evolution.move_column("a", FIRST),
        evolution.rename_column("a", "b"),
        evolution.primary_key(["a"]),
        evolution.partition_by(["a"]),
        evolution.sort_by(["a"]),
    ]
    assert len({repr((one.operation, one.arguments)) for one in steps}) == len(steps)


def test_a_refused_step_is_not_among_the_arguments(table):
    made = begun(table)
    made.add(add("a"))
    with pytest.raises(Invalid):
        made.add(add("a"))
    assert [one[:2] for one in made.arguments] == [["add_column", "a"]]


def test_nothing_is_written_before_the_commit(main, table):
    made = begun(table)
    made.add(add("a"))
    made.add(evolution.partition_by(["id"]))
    before = main.version
    work = table._scope.read()
    made.make(work)
    assert table_state(work, table.id).schema.names == ("id", "name", "place", "a")
    assert table.schema.names == ("id", "name", "place")
    assert main.version == before


def test_steps_can_be_taken_on_a_newer_state_and_keep_their_ids(table):
    made = begun(table)
    made.add(add("a"))
    first = table._scope.read()
    made.make(first)
    with table.evolve() as change:
        change.add_column("b", "int")
        change.rename_column("name", "title")
    second = table._scope.read()
    made.make(second)
    one, other = table_state(first, table.id).schema, table_state(second, table.id).schema
    assert other.names == ("id", "title", "place", "b", "a")
    assert one.field("a") == other.field("a")


def test_a_schema_that_stays_as_it_is_gets_no_number(table):
    with table.evolve() as change:
        change.make_optional("name")
        change.move_column("id", first=True)
    assert table.schema.id == 1
    assert (change.committed.id, change.committed.version) == ("", table.version), "and no commit"
    assert [one.type for one in table.history()[0].operations] == ["create"]


def test_a_conflict_inside_one_transaction_names_no_commit(main, table):
    with main.transaction("t") as tx, pytest.raises(Conflict) as caught:
        inside = tx.table("t")
        with inside.evolve() as change:
            change.set_comment("id", "outer")
            with inside.evolve() as other:
                other.set_comment("id", "inner")
    assert "id" in str(caught.value)
    assert caught.value.conflicts == ()
    assert table.schema.field("id").comment == "inner"
