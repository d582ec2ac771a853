"""How deeply columns are nested: one limit, however a schema comes in, and up to it every reader reads the rows."""

import time
from typing import Any

import pyarrow
import pytest

import lakebed
from lakebed import Field, Schema
from lakebed.errors import Invalid
from lakebed.table.types.types import List, Map, Primitive, Struct, Type

LIMIT = {"list": 16, "map": 16, "struct": 32}  # 32 levels of Parquet
TEXT = {"list": "list<", "map": "map<string, ", "struct": "struct<a: "}


def text_of(kind: str, depth: int) -> str:
    return TEXT[kind] * depth + "int" + ">" * depth


def arrow_of(kind: str, depth: int) -> pyarrow.DataType:
    type = pyarrow.int32()
    for _ in range(depth):
        if kind == "list":
            type = pyarrow.list_(type)
        elif kind == "map":
            type = pyarrow.map_(pyarrow.string(), type)
        else:
            type = pyarrow.struct({"a": type})
    return type


def own_type(kind: str, depth: int) -> Type:
    type: Type = Primitive("int")
    for _ in range(depth):
        if kind == "list":
            type = List(type)
        elif kind == "map":
            type = Map(Primitive("string"), type)
        else:
            type = Struct((Field("a", type),))
    return type


def value_of(kind: str, depth: int) -> Any:
    value: Any = 7
    for _ in range(depth):
        value = {"list": [value], "map": [("k", value)], "struct": {"a": value}}[kind]
    return value


def ways_in(main: lakebed.Catalog, kind: str, depth: int) -> dict[str, Any]:
    """The calls that bring a column of this depth into the lake."""
    table = main.create_table("grows", {"id": "long"}, if_not_exists=True)

    def evolve(type: Any) -> None:
        with table.evolve() as change:
            change.add_column("c", type)

    def rows() -> pyarrow.Table:
        return pyarrow.table({"id": [1], "c": pyarrow.nulls(1, arrow_of(kind, depth))})

    return {
        "a pyarrow schema": lambda: main.create_table("t", pyarrow.schema({"c": arrow_of(kind, depth)})),
        "pyarrow's type in a mapping": lambda: main.create_table("t", {"c": arrow_of(kind, depth)}),
        "a text": lambda: main.create_table("t", {"c": text_of(kind, depth)}),
        "a schema": lambda: main.create_table("t", Schema([Field("c", own_type(kind, depth))])),
        "rows": lambda: main.create_table("t", rows()),
        "a view": lambda: main.create_view("v", "SELECT 1", schema=Schema([Field("c", own_type(kind, depth))])),
        "a new column": lambda: evolve(own_type(kind, depth)),
        "a new column by text": lambda: evolve(text_of(kind, depth)),
        "a new column by pyarrow's type": lambda: evolve(arrow_of(kind, depth)),
        "new columns of rows": lambda: table.append(rows(), evolve="add"),
    }


@pytest.mark.parametrize("kind", LIMIT)
def test_a_deep_column_was_acknowledged_and_never_readable(main, unchanged, kind):
    main.create_table("grows", {"id": "long"})
    for beyond in (1, 84, 280):
        for name, call in ways_in(main, kind, LIMIT[kind] + beyond).items():
            with unchanged(), pytest.raises(Invalid, match=r"nested too deeply .*at most 32 levels.*found \d+ levels"):
                call()
                pytest.fail(name)


def test_a_schema_thousands_of_levels_deep_is_refused_at_once(main):
    started = time.monotonic()
    for kind in LIMIT:
        for call in (
            lambda kind=kind: main.create_table("t", Schema([Field("c", own_type(kind, 5_000))])),
            lambda kind=kind: main.create_table("t", {"c": text_of(kind, 5_000)}),
            lambda kind=kind: main.create_table("t", {"c": "list<" * 10**7}),
        ):
            with pytest.raises(Invalid, match=r"too (deeply|long)"):
                call()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("stored", ["65536", "0"])
@pytest.mark.parametrize("kind", LIMIT)
def test_the_deepest_column_is_read_by_all(lake, main, kind, stored):
    depth = LIMIT[kind]
    type = arrow_of(kind, depth)
    table = main.create_table("deep", {"c": type}, properties={"write.inline-bytes": stored})
    rows = pyarrow.table({"c": pyarrow.array([value_of(kind, depth), None], type)})
    table.append(rows)
    table.append(rows)
    table.compact()
    assert table.scan().to_arrow()["c"].to_pylist() == rows["c"].to_pylist() * 2
    assert lake.query("SELECT count(c) AS n FROM deep").to_arrow().to_pylist() == [{"n": 2}]


def test_a_column_inside_a_struct_counts_the_levels_around_it(main):
    table = main.create_table("t", {"c": text_of("struct", 31)})
    inside = ".".join(["c", *"a" * 30])
    with table.evolve() as change:
        change.add_column(f"{inside}.b", "struct<x: int>")
    with pytest.raises(Invalid, match="found 33 levels"), table.evolve() as change:
        change.add_column(f"{inside}.d", "list<int>")


def test_a_table_of_an_older_lake_that_is_nested_more_deeply_stays_readable(main, monkeypatch):
    with monkeypatch.context() as older:
        for module in ("lakebed.catalog.tables.tables", "lakebed.lake.arguments"):
            older.setattr(f"{module}.check_nesting", lambda fields: None)
        table = main.create_table("old", Schema([Field("c", own_type("list", 20))]))
    rows = pyarrow.table({"c": pyarrow.array([value_of("list", 20)], arrow_of("list", 20))})
    table.append(rows)
    with main.table("old").evolve() as change:
        change.add_column("d", "int")
    assert main.table("old").scan().to_arrow()["c"].to_pylist() == rows["c"].to_pylist()
