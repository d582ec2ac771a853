"""What a table refuses, by Spark."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Catalog, Table
from lakebed.errors import Invalid
from tests.support.examples import examples
from tests.support.unchecked import set_unchecked

Change = Callable[[Table, SparkSession], Any]


@pytest.fixture
def orders(tmp_path: Any, spark: SparkSession) -> Table:
    main: Catalog = lakebed.connect(tmp_path / "lake").catalog()
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long", "price": "double"}, primary_key=["id"])
    table.append(rows(spark, "(1, 10D), (2, 20D)"))
    return table


def rows(spark: SparkSession, values: str) -> DataFrame:
    return spark.sql(f"SELECT * FROM VALUES {values} AS given (id, price)").selectExpr("cast(id AS long)", "price")


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())


CHANGES: list[Change] = [
    lambda table, spark: table.append(rows(spark, "(3, 1D), (4, -1D), (5, -2D)")),
    lambda table, spark: table.overwrite(rows(spark, "(3, 1D), (4, -1D), (5, -2D)")),
    lambda table, spark: table.update({"price": "price - 30"}, spark=spark),
    lambda table, spark: table.upsert(rows(spark, "(1, -1D), (3, -2D)")),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", CHANGES, ids=["append", "overwrite", "update", "upsert"])
def test_no_change_by_spark_brings_in_a_row_that_breaks_a_check(
    spark: SparkSession, orders: Table, change: Change
) -> None:
    orders.set_properties({"check.price": "price >= 0"})
    before = orders.version, orders.scan().to_arrow()
    with pytest.raises(Invalid, match=r"table sales.orders, check.price: .*found 2 rows, such as {.*price"):
        change(orders, spark)
    assert (orders.version, orders.scan().to_arrow()) == before


def test_a_row_for_which_a_check_is_null_is_taken_by_spark(spark: SparkSession, orders: Table) -> None:
    orders.set_properties({"check.price": "price >= 0", "check.id": "`id` < 1000"})
    orders.append(rows(spark, "(3, null)"))
    assert ids(orders) == [1, 2, 3]


@pytest.mark.parametrize("condition", ["nothing > 1", "price +", "price"])
def test_a_check_that_spark_can_not_read_stops_its_writes(spark: SparkSession, orders: Table, condition: str) -> None:
    set_unchecked(orders, {"check.odd": condition})
    with pytest.raises(Invalid, match=r"table sales.orders, check.odd: a check of the table can't be evaluated"):
        orders.append(rows(spark, "(3, 1D)"))


def test_a_check_sees_names_and_defaults_as_the_table_has_them(spark: SparkSession, orders: Table) -> None:
    with orders.evolve() as change:
        change.rename_column("price", "cost")
        change.add_column("kind", "string", default="plain")
    orders.set_properties({"check.kind": "kind <> 'odd' AND cost > 0"})
    orders.append(spark.sql("SELECT 3L AS id, 1D AS cost"))
    with pytest.raises(Invalid, match=r"check\.kind"):
        orders.append(spark.sql("SELECT 4L AS id, 1D AS cost, 'odd' AS kind"))
    assert ids(orders) == [1, 2, 3]


def test_spark_refuses_a_key_that_is_there_or_comes_twice(spark: SparkSession, orders: Table) -> None:
    orders.set_properties({"write.check-keys": "true"})
    with pytest.raises(Invalid, match=r"sales.orders: id = 2: a primary key is in the table already .*found 1 such"):
        orders.append(rows(spark, "(3, 1D), (2, 1D)"))
    with pytest.raises(Invalid, match=r"sales.orders: id = 7: a primary key comes twice"):
        orders.append(rows(spark, "(7, 1D), (7, 2D), (8, 1D)"))
    assert ids(orders) == [1, 2]
    orders.append(rows(spark, "(3, 1D), (4, 1D)"))
    assert ids(orders) == [1, 2, 3, 4]


def test_an_append_by_spark_adds_the_columns_that_the_table_lacks(spark: SparkSession, orders: Table) -> None:
    more = spark.sql("SELECT 3L AS id, 'new' AS note, named_struct('a', 1) AS inner")
    with pytest.raises(Invalid, match="note is not a column of the table"):
        orders.append(more)
    commit = orders.append(more, evolve="add")
    assert commit is not None
    assert orders.schema.names == ("id", "price", "note", "inner")
    assert orders.scan(where="note = 'new'").to_arrow().to_pylist() == [
        {"id": 3, "price": None, "note": "new", "inner": {"a": 1}}
    ]


INSERT = lakebed.when_not_matched_insert({"id": "source.id", "price": "source.price"})

REPEATED: list[Change] = [
    lambda table, spark: table.update({"id": "2"}, where="id = 1", spark=spark),
    lambda table, spark: table.overwrite(rows(spark, "(5, 1D), (5, 2D)")),
    lambda table, spark: table.overwrite(rows(spark, "(2, 1D)"), where="id = 1"),
    lambda table, spark: table.merge(rows(spark, "(2, 77D)"), "target.id = source.id AND target.price > 90", INSERT),
    lambda table, spark: table.merge(
        rows(spark, "(1, 1D)"), "id", lakebed.when_matched_update({"id": "target.id + 1"})
    ),
]


def test_no_change_by_spark_leaves_two_rows_with_one_primary_key(spark: SparkSession, orders: Table) -> None:
    files = orders._scope.context.files
    before = orders.version, orders.scan().to_arrow(), sorted(one.path for one in files.list(""))
    for change in REPEATED[:: examples(2, 1)]:
        with pytest.raises(
            Invalid, match=r"sales.orders: id = \d: a primary key (is in the table already|comes twice)"
        ):
            change(orders, spark)
        assert (orders.version, orders.scan().to_arrow(), sorted(one.path for one in files.list(""))) == before
    orders.update({"id": "id + 1"}, spark=spark)  # 2 is given up and taken at once
    orders.overwrite(rows(spark, "(2, 5D), (4, 5D)"), where="id = 2")
    assert ids(orders) == [2, 3, 4]
