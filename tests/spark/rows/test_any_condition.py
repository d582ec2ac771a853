"""Conditions of any SQL: both engines read and change the same rows by them."""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed import Catalog, Table
from lakebed.errors import Invalid

ROWS: list[dict[str, Any]] = [
    {
        "id": number,
        "a": number % 4 or None,
        "b": number % 3,
        "x": number / 4,
        "my col": 0.5 * number,
        "s": "ab" * number,
    }
    for number in range(12)
]
CONDITIONS = [
    "a > b",
    "not (a > b) or s is null",
    "id > 2 and a + b = 3 and length(s) > 8",
    "case when a is null then b = 0 else a = b end",
    "x * 4 = id and upper(s) like '%AB'",
    "b <> 0 and id / b > 4",
    "`my col` > x and `my col` between 1 and 4",
    "_row_id in (2, 3, 9) or _pos = 1 and _file is not null",
    "cast(x as int) in (a, b)",
]


@pytest.fixture(scope="module")
def main(tmp_path_factory: Any) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path_factory.mktemp("where") / "lake") as lake:
        yield lake.catalog()


@pytest.fixture(scope="module")
def table(main: Catalog) -> Table:
    """Two files, of which one has a deleted row, and inline rows."""
    types = {"id": "long", "a": "int", "b": "int", "x": "double", "my col": "double", "s": "string"}
    table = main.create_table("t", types, properties={"write.inline-bytes": "0"})
    table.append(ROWS[:5])
    table.append(ROWS[5:9])
    table.delete("id = 6")
    table.set_properties({"write.inline-bytes": "64000"})
    table.append(ROWS[9:])
    return table


def test_both_engines_read_the_same_rows(table: Table, spark: SparkSession) -> None:
    frames = [table.read(spark, where, columns=["s", "id"]) for where in CONDITIONS]
    assert all(frame.columns == ["s", "id"] for frame in frames)
    numbered = [frame.select(F.lit(number).alias("n"), "id") for number, frame in enumerate(frames)]
    found = reduce(DataFrame.union, numbered).collect()  # in one job
    for number, where in enumerate(CONDITIONS):
        local = sorted(table.scan(where).to_arrow()["id"].to_pylist())
        assert sorted(row.id for row in found if row.n == number) == local, where
        assert local, where
    beyond = table.read(spark, "soundex(s) = 'A110' and id > 3")
    assert beyond.columns == table.read(spark).columns
    assert table.read(spark, "_row_id > 0", columns=["_row_id"]).columns == ["_row_id"]


def test_both_engines_change_the_same_rows(main: Catalog, table: Table, spark: SparkSession) -> None:
    for number, where in enumerate(("a > b and id > 3", "_row_id in (2, 9) or _pos = 1 and `my col` > x")):
        outcomes = []
        for session in (None, spark):
            line = main.create_branch(f"dev{number}{session is None}")
            own = line.table("t")
            own.delete(where, session)
            own.update({"b": "b + 1"}, f"not ({where})", session)
            outcomes.append(sorted(own.scan(columns=["id", "b"]).to_arrow().to_pylist(), key=lambda row: row["id"]))
        assert outcomes[0] == outcomes[1]
        assert len(outcomes[0]) < 11


def test_mistakes_are_refused_before_a_job_runs(table: Table, spark: SparkSession) -> None:
    for where, problem in (
        ('"my col" > 0.5', "Write the column in backticks: `my col`"),
        ("nothing > a", "no such column"),
        ("nothing = 1", "no such column"),
        ("id = 'abc'", "does not fit its type"),
        ("a + 1", "neither true nor false"),
        ("a >", "can't be read"),
    ):
        with pytest.raises(Invalid, match=problem):
            table.read(spark, where)
    with pytest.raises(Invalid, match="Write the column in backticks: `my col`"):
        table.delete('"my col" > 0.5', spark)
    with pytest.raises(Invalid, match="Write the column in backticks: `my col`"):
        table.update({"x": '"my col" * 2'}, spark=spark)
