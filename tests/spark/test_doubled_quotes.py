"""A quote inside a literal of SQL that rows are changed by: it is there, or the call is refused."""

from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Invalid, Table, when_matched_delete
from lakebed.spark.expressions import drops_quotes

SPARKS_ALONE = "reverse(name) = reverse('it''s')"


def delete(table: Table, spark: SparkSession) -> None:
    table.delete(SPARKS_ALONE, spark)


def update(table: Table, spark: SparkSession) -> None:
    table.update({"name": "reverse('it''s')"}, None, spark)


def merge(table: Table, spark: SparkSession) -> None:
    table.merge(spark.range(3), f"target.id = source.id AND {SPARKS_ALONE}", when_matched_delete())


def append(table: Table, spark: SparkSession) -> None:
    table.set_properties({"check.name": f"NOT {SPARKS_ALONE}"})
    table.append(spark.sql("SELECT 3L AS id, 'its' AS name"))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = lakebed.connect(tmp_path / "lake").catalog().create_table("t", {"id": "long", "name": "string"})
    table.append(pyarrow.table({"id": [1, 2], "name": ["it's", "its"]}))
    return table


def names(table: Table) -> list[str]:
    found: list[str] = sorted(table.scan().to_arrow()["name"].to_pylist())
    return found


@pytest.mark.sampled(4)
@pytest.mark.since("4.1", "a doubled quote is one")
@pytest.mark.parametrize(
    ("change", "left"),
    [(delete, ["its"]), (update, ["s'ti", "s'ti"]), (merge, ["its"]), (append, ["it's", "its", "its"])],
)
def test_the_quote_is_there(table: Table, spark: SparkSession, change: Callable[..., None], left: list[str]) -> None:
    change(table, spark)
    assert names(table) == left


@pytest.mark.before("4.1", "a doubled quote is none")
@pytest.mark.parametrize("change", [delete, update, merge, append])
def test_spark_4_0_would_leave_it_out_and_is_refused(
    table: Table, spark: SparkSession, change: Callable[..., None]
) -> None:
    with pytest.raises(Invalid, match=r"doubled quote.*'it\\'s'|leaves a doubled quote out"):
        change(table, spark)
    assert names(table) == ["it's", "its"]
    table.delete(r"reverse(name) = reverse('it\'s')", spark)
    assert names(table) == ["its"]


def test_other_quotes_are_no_doubled_ones(spark: SparkSession) -> None:
    splits = spark.sql("SELECT 'a''b'").columns == ["ab"]
    for text in (
        "''",
        "x = '' AND y = ''",
        "'a' 'b'",
        r"'it\'s'",
        "`it''s`",
        "\"it''s\"",
        "1 -- it''s",
        "1 /* '''' */",
    ):
        assert not drops_quotes(spark, text), text
    for text in ("'it''s'", "''''", "x = '' OR y = 'a'''", "`'` = 'a''b'", "1 /* ' */ + 'a''b'", r"'\\''a'"):
        assert drops_quotes(spark, text) == splits, text
