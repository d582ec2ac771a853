"""Keys that another writer stored in schemas and specs: they survive whatever Lakebed makes of the table."""

import json
from dataclasses import replace

import pytest

from lakebed import Catalog, Schema, Table
from lakebed.catalog.tables.tables import put_schema, put_spec
from lakebed.catalog.transaction.bodies import SCHEMA, SPEC
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.work import Work
from lakebed.table.schema.json import schema_to_json

TOP, OWN, INNER, PARTED = '{"top":[1,{"ö":null}]}', '{"own":1.5}', '{"inner":"x"}', '{"parted":true}'


@pytest.fixture
def table(main: Catalog) -> Table:
    """A table whose schema and spec have keys that this Lakebed does not know, on every level that keeps them."""
    columns = {"id": "long", "price": "int", "home": "struct<city: string>", "day": "date"}
    table = main.create_table("t", columns, partition_by=["day(day)"])
    table._scope.change(lambda work: _store(work, table), Request("evolve"))
    return table


def _store(work: Work, table: Table) -> None:
    schema, spec, allocate = table.schema, table.spec.fields, work.context.metastore.allocate
    home = schema.field("home")
    city = replace(home.type.fields[0], unknown=INNER)
    own = {
        "price": replace(schema.field("price"), unknown=OWN),
        "home": replace(home, type=replace(home.type, fields=(city,))),
    }
    fields = [own.get(field.name, field) for field in schema.fields]
    put_schema(work, table.id, Schema(fields, allocate(table.id, SCHEMA), unknown=TOP))
    parted = tuple(replace(field, unknown=PARTED) for field in spec)
    put_spec(work, table.id, replace(table._state.spec, fields=parted, id=allocate(table.id, SPEC)))


def _assert_kept(table: Table) -> None:
    body = json.loads(schema_to_json(table.schema))
    assert body["top"] == [1, {"ö": None}]
    price = next(one for one in body["fields"] if one["id"] == 2)
    home = next(one for one in body["fields"] if one["id"] == 3)
    assert (price["own"], home["type"]["fields"][0]["inner"]) == (1.5, "x")
    assert [field.unknown for field in table.spec.fields if field.name == "day_day"] == [PARTED]


def test_unknown_keys_survive_evolution(table: Table) -> None:
    _assert_kept(table)
    with table.evolve() as change:
        change.add_column("note", "string")
        change.rename_column("price", "cost")
        change.widen_column("cost", "long")
        change.move_column("home", first=True)
        change.rename_column("home.city", "town")
        change.add_partition_field("bucket(4, id)")
    _assert_kept(table)
    table.append([{"id": 1, "cost": 2}])
    assert table.scan().to_arrow()["cost"].to_pylist() == [2]


def test_unknown_keys_survive_a_merge_of_two_schemas_and_a_restore(main: Catalog, table: Table) -> None:
    dev = main.create_branch("dev")
    for line, name in ((main, "here"), (dev, "there")):
        with line.table("t").evolve() as change:
            change.add_column(name, "string")
    main.merge(dev)
    assert {"here", "there"} <= set(table.schema.names)
    _assert_kept(table)
    with table.evolve() as change:
        change.drop_column("here")
    table.restore(-1)
    _assert_kept(table)
