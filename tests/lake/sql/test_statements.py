"""Every statement in the guide's tables runs, and answers what its row says."""

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakebed import Catalog, Lake

PAGE = Path(__file__).parents[3] / "docs/guide/sql.md"
HEADER = "| statement | does | answers | example |"
CODE = re.compile(r"(`+)(.+?)\1")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of statements; `line` is its place in the page."""

    line: int
    statement: str
    answers: str
    example: str


def rows() -> Iterator[Row]:
    """The rows of the page's tables of statements."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    inside = False
    for number, line in enumerate(lines, 1):
        if line == HEADER:
            inside = True
        elif inside and not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("| ---"):
            statement, _, answers, example = (cell.strip() for cell in line.strip("|").split(" | "))
            found = CODE.fullmatch(example)
            assert found, f"{PAGE.name}:{number}: the example is one piece of code"
            yield Row(number, statement, answers, found[2].strip())


ROWS = list(rows())


@pytest.fixture
def sales(main: Catalog) -> Catalog:
    """What the examples name: tables, a view, namespaces, a branch, a tag, and what was dropped."""
    columns = {"id": "long", "item": "string", "price": "decimal(10, 2)", "qty": "int", "day": "date"}
    main.create_namespace("sales")
    main.create_namespace("sales.eu")
    orders = main.create_table("sales.orders", columns, partition_by=["day(day)"], primary_key=["id"])
    new = main.create_table("sales.new_orders", columns, primary_key=["id"])
    for table, ids in ((orders, [1, 2]), (new, [2, 3])):
        size = len(ids)
        prices = pa.array([Decimal(2)] * size, pa.decimal128(10, 2))
        days = [datetime.date(2026, 11, 1)] * size
        table.append(
            pa.table(
                {
                    "id": ids,
                    "item": ["tea"] * size,
                    "price": prices,
                    "qty": pa.array([1] * size, pa.int32()),
                    "day": days,
                }
            )
        )
    with new.evolve() as change:
        change.primary_key([])
    orders.set_properties({"check.positive": "price >= 0"})
    days = main.create_table("sales.days", columns, partition_by=["day"])
    days.create_partition({"day": "2026-11-02"}).append([{"id": 1}])
    main.create_view("sales.totals", "SELECT sum(price) AS total FROM sales.orders")
    main.create_tag("q4")
    orders.set_properties({"owner": "bob"})
    main.create_branch("dev").table("sales.orders").delete("id = 1")
    main.create_table("sales.old", columns)
    main.drop_table("sales.old")
    main.create_namespace("attic")
    main.drop_namespace("attic")
    main.create_branch("tried")
    main.drop_branch("tried")
    return main


@pytest.mark.parametrize("row", ROWS, ids=[f"line {row.line}" for row in ROWS])
def test_every_statement_of_the_guide_runs(lake: Lake, sales: Catalog, spark: SparkSession, row: Row) -> None:
    answer = lake.sql(spark, row.example)
    assert type(answer).__name__ == row.answers.replace("None", "NoneType"), row
    if row.answers == "DataFrame":
        assert answer.columns  # type: ignore[union-attr]
        answer.collect()  # type: ignore[union-attr]


def test_the_guide_has_every_statement() -> None:
    """The first words of all statements that the parser takes are in the tables."""
    from lakebed.spark.sql.parsing import _READERS

    named = " ".join(f"{row.statement} {row.example}" for row in ROWS)
    others = {"(", "FROM", "VALUES", "DESC"}
    assert {word for word in _READERS if not re.search(rf"\b{re.escape(word)}\b", named)} <= others
