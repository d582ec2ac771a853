"""Creating what may be there already, dropping what may be gone, and tables with their first rows in one commit."""

import multiprocessing
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Field, Lake, Schema
from lakebed.errors import AlreadyExists, Invalid, NotFound

ROWS = pa.table({"id": [1, 2], "item": ["tea", "jam"]})

CREATE: dict[str, Callable[..., Any]] = {
    "namespace": lambda main, **flag: main.create_namespace("x", **flag),
    "table": lambda main, **flag: main.create_table("x", {"id": "long"}, **flag),
    "filled table": lambda main, **flag: main.create_table("x", ROWS, **flag),
    "view": lambda main, **flag: main.create_view("x", "SELECT 1", **flag),
    "branch": lambda main, **flag: main.create_branch("x", **flag),
    "tag": lambda main, **flag: main.create_tag("x", **flag),
    "share": lambda main, **flag: main.create_share("x", [], **flag),
}
DROP: dict[str, Callable[..., Any]] = {
    "namespace": lambda main, **flag: main.drop_namespace("x", **flag),
    "table": lambda main, **flag: main.drop_table("x", **flag),
    "view": lambda main, **flag: main.drop_view("x", **flag),
    "branch": lambda main, **flag: main.drop_branch("x", **flag),
    "tag": lambda main, **flag: main.drop_tag("x", **flag),
    "share": lambda main, **flag: main.drop_share("x", **flag),
}


@pytest.mark.parametrize("create", CREATE.values(), ids=CREATE)
def test_a_program_that_creates_its_objects_runs_twice(main: Catalog, create: Callable[..., Any]) -> None:
    first = create(main, if_not_exists=True)
    version = main.version
    assert create(main, if_not_exists=True) == first
    assert main.version == version
    with pytest.raises(AlreadyExists):
        create(main)


@pytest.mark.parametrize("kind", DROP)
def test_a_program_that_drops_its_objects_runs_twice(main: Catalog, kind: str) -> None:
    CREATE[kind](main)
    assert DROP[kind](main, if_exists=True).operations[0].type == "drop"
    assert DROP[kind](main, if_exists=True) is None
    with pytest.raises(NotFound):
        DROP[kind](main)


def test_a_catalog_may_be_there_already_or_gone(lake: Lake) -> None:
    made = lake.create_catalog("other", if_not_exists=True)
    assert lake.create_catalog("OTHER", if_not_exists=True) == made
    assert lake.drop_catalog("other", if_exists=True) is not None
    assert lake.drop_catalog("other", if_exists=True) is None


def test_the_flags_work_in_a_transaction(main: Catalog) -> None:
    main.create_table("old", {"id": "long"})
    with main.transaction() as tx:
        assert tx.create_table("old", {"a": "int"}, if_not_exists=True).schema.names == ("id",)
        made = tx.create_table("new", ROWS, if_not_exists=True)
        assert tx.create_table("new", {"a": "int"}, if_not_exists=True).id == made.id
        assert tx.drop_table("nothing", if_exists=True) is None
        tx.create_namespace("sales", if_not_exists=True)
        tx.create_namespace("sales", if_not_exists=True)
    assert main.table("new").scan().count() == 2


def test_an_object_of_another_kind_is_never_answered(main: Catalog) -> None:
    main.create_view("x", "SELECT 1")
    main.create_tag("y")
    with pytest.raises(AlreadyExists, match="a view"):
        main.create_table("x", {"id": "long"}, if_not_exists=True)
    with pytest.raises(AlreadyExists, match="a tag"):
        main.create_branch("y", if_not_exists=True)


def test_the_trunk_is_there_already(main: Catalog) -> None:
    assert main.create_branch("main", if_not_exists=True) == main


def test_a_missing_branch_is_not_mistaken_for_a_missing_table(main: Catalog) -> None:
    dev = main.create_branch("dev")
    main.drop_branch("dev")
    with pytest.raises(NotFound, match="branch"):
        dev.drop_table("x", if_exists=True)
    with pytest.raises(NotFound, match="branch"):
        dev.create_table("x", {"id": "long"}, if_not_exists=True)


def test_a_flag_that_is_not_a_flag_is_refused(main: Catalog) -> None:
    with pytest.raises(Invalid, match="if_not_exists is True or False"):
        main.create_table("x", {"id": "long"}, if_not_exists="yes")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="if_exists is True or False"):
        main.drop_table("x", if_exists=1)  # type: ignore[arg-type]


@pytest.mark.long
def test_processes_that_all_create_a_table_end_with_one(tmp_path: Path) -> None:
    lakebed.connect(tmp_path).close()
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_create_all, [str(tmp_path)] * 6, chunksize=1)
    assert len(set(found)) == 1
    with lakebed.connect(tmp_path) as lake:
        [table] = lake.catalog().tables()
        assert (table.id, table.scan().count()) == (found[0][0], 2)
        assert lake.catalog("default@dev").ref == "dev"


def _create_all(url: str) -> tuple[str, str]:
    with lakebed.connect(url) as lake:
        main = lake.catalog()
        table = main.create_table("x", ROWS, if_not_exists=True)
        return table.id, main.create_branch("dev", if_not_exists=True)._line.ref.line.id


def test_a_table_is_made_and_filled_in_one_commit(main: Catalog) -> None:
    before = len(main.log())
    table = main.create_table("x", ROWS, primary_key=["id"], message="all of it")
    [commit] = main.log()[: len(main.log()) - before]
    assert (commit.message, [done.type for done in commit.operations]) == ("all of it", ["create", "insert"])
    assert table.scan().to_arrow().to_pylist() == ROWS.to_pylist()
    assert (table.primary_key, table.schema.field("id").required) == (("id",), True)
    assert not table.schema.field("item").required


@pytest.mark.parametrize(
    "rows",
    [ROWS, ROWS.to_batches()[0], ROWS.to_reader(), ROWS.to_pandas()],
    ids=["table", "batch", "reader", "pandas"],
)
def test_a_table_is_made_of_all_rows_that_append_takes(main: Catalog, rows: Any) -> None:
    assert main.create_table("x", rows).scan().to_arrow().to_pylist() == ROWS.to_pylist()


def test_a_column_of_nothing_but_nulls_needs_a_type(main: Catalog) -> None:
    for rows in (pa.table({"id": [1], "note": [None]}), {"id": [1], "note": [None]}):
        with pytest.raises(Invalid, match=r"note: .*Give the column a type: it has only nulls"):
            main.create_table("x", rows)
    assert not main.table_exists("x")


@pytest.mark.parametrize("rows", [ROWS.to_pydict(), ROWS.to_pylist()], ids=["dict of lists", "list of dicts"])
def test_a_table_is_made_of_plain_python_values(main: Catalog, rows: Any) -> None:
    assert main.create_table("x", rows).scan().to_arrow().to_pylist() == ROWS.to_pylist()


def test_times_of_pandas_become_times_that_spark_reads(main: Catalog) -> None:
    frame = pandas.DataFrame({"at": pandas.to_datetime(["2026-11-01"]).astype("datetime64[ns]")})
    table = main.create_table("x", frame)
    assert str(table.schema.field("at").type) == "timestamp"
    assert table.scan().to_arrow()["at"].to_pylist() == [datetime(2026, 11, 1)]


def test_rows_that_break_a_check_of_the_new_table_leave_nothing(main: Catalog) -> None:
    before = main.version
    with pytest.raises(Invalid, match=r"check\.small"):
        main.create_table("x", ROWS, properties={"check.small": "id < 2"})
    assert (main.version, main.table_exists("x")) == (before, False)
    with main.transaction() as tx:
        with pytest.raises(Invalid, match=r"check\.small"):
            tx.create_table("x", ROWS, properties={"check.small": "id < 2"})
        assert not tx.table_exists("x")


def test_a_filled_table_is_made_once_by_one_event_id(main: Catalog) -> None:
    event = lakebed.event_id("load")
    made = main.create_table("x", ROWS, event_id=event)
    assert main.create_table("x", ROWS.slice(1), event_id=event) == made
    assert made.scan().count() == 2
    replaced = main.create_or_replace_table("x", ROWS, event_id=lakebed.event_id("again"))
    assert main.create_or_replace_table("x", ROWS, event_id=lakebed.event_id("again")) == replaced != made


def test_a_replaced_table_is_a_new_one_and_the_old_one_can_be_undropped(main: Catalog) -> None:
    old = main.create_or_replace_table("x", ROWS)
    before = len(main.log())
    new = main.create_or_replace_table("x", {"other": "string"}, message="again")
    assert len(main.log()) == before + 1
    assert new.id != old.id
    assert main.table("x").schema.names == ("other",)
    main.undrop_table("x", id=old.id, as_name="y")
    assert main.table("y").scan().count() == 2


def test_a_table_is_replaced_inside_a_transaction_or_not_at_all(main: Catalog) -> None:
    main.create_table("x", ROWS)
    with pytest.raises(RuntimeError), main.transaction() as tx:
        tx.create_or_replace_table("x", {"other": "string"})
        assert tx.table("x").schema.names == ("other",)
        raise RuntimeError
    assert main.table("x").schema.names == ("id", "item")


def test_a_view_is_not_replaced_by_a_table(main: Catalog) -> None:
    main.create_view("x", "SELECT 1")
    with pytest.raises(AlreadyExists, match="a view"):
        main.create_or_replace_table("x", ROWS)


@pytest.mark.parametrize("given", [17, None, "id long", ["id"], {"id": 5}, {"id": None}, object()])
def test_what_is_neither_a_schema_nor_rows_is_refused(main: Catalog, given: object) -> None:
    with pytest.raises(Invalid):
        main.create_table("x", given)


@pytest.mark.parametrize("declared", ["varchar(3)", "VARCHAR(3)", "char(3)", "character varying(3)"])
def test_a_declared_length_is_a_check(main: Catalog, declared: str) -> None:
    table = main.create_table("x", {"id": "bigint", "my name": declared})
    assert [str(field.type) for field in table.schema.fields] == ["long", "string"]
    table.append(pa.table({"id": [1, 2], "my name": ["abc", None]}))
    with pytest.raises(Invalid, match=r"length\(`my name`\) <= 3"):
        table.append(pa.table({"id": [3], "my name": ["abcd"]}))


def test_a_declared_length_inside_a_struct_is_a_check(main: Catalog) -> None:
    table = main.create_table("x", Schema([Field("home", "struct<city varchar(2), street text>")]))
    assert table.properties == {"check.home.city-length": "length(home.city) <= 2"}
    with pytest.raises(Invalid, match="rows violate a check"):
        table.append(pa.table({"home": [{"city": "Rome", "street": "1"}]}))


def test_a_length_that_no_check_can_reach_is_refused(main: Catalog) -> None:
    with pytest.raises(Invalid, match="only a column"):
        main.create_table("x", {"tags": "array<varchar(3)>"})
    with pytest.raises(Invalid, match="no check reaches into lists"):
        main.create_table("x", {"tags": "array<struct<a varchar(3)>>"})


@pytest.mark.parametrize("call", ["create_table", "create_or_replace_table"])
def test_a_table_that_was_created_with_rows_has_no_key_twice(main: Catalog, call: str) -> None:
    twice = pa.table({"id": [1, 2, 1]})
    with pytest.raises(Invalid, match="x: id = 1: a primary key comes twice in the rows that are written"):
        getattr(main, call)("x", twice, primary_key=["id"])
    assert not main.table_exists("x")
    with main.transaction() as tx:
        with pytest.raises(Invalid, match="comes twice"):
            getattr(tx, call)("x", twice, primary_key=["id"])
        getattr(tx, call)("x", ROWS.to_reader(), primary_key=["id"])
    assert main.table("x").scan().to_arrow().to_pylist() == ROWS.to_pylist()
    assert main.log(limit=1)[0].operations[-1].counts["added_rows"] == 2


def test_the_columns_of_a_table_may_have_types_of_pyarrow(main: Catalog) -> None:
    types = {"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "tags": pa.list_(pa.string()), "n": "decimal(3, 1)"}
    table = main.create_table("x", types)
    assert " ".join(str(field.type) for field in table.schema.fields) == "long timestamptz list<string> decimal(3, 1)"
    with pytest.raises(Invalid, match=r"wait: a table can't have a column of this type .*found duration"):
        main.create_table("y", {"id": pa.int64(), "wait": pa.duration("s")})
    with table.evolve() as change:
        change.add_column("price", pa.float32())
        change.widen_column("price", pa.float64())
    assert str(table.schema.field("price").type) == "double"


def test_a_layout_that_a_program_passes_on_may_be_none(main: Catalog) -> None:
    table = main.create_table("x", {"id": "long"}, partition_by=None, sort_by=None, primary_key=None)
    assert (len(table.spec), len(table.sort_order), table.primary_key) == (0, 0, ())
