"""`${…}` in SQL stands for itself, in whatever the lake gives to Spark, and not for what a machine has there."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import lakebed
from lakebed import Invalid, Lake
from lakebed.spark import attach, detach
from lakebed.spark.variables import SUBSTITUTE, verbatim, verbatim_template, written_expression

Setting = Callable[[dict[str, str]], AbstractContextManager[None]]
TEXTS = (
    "${user.name}",
    "${env:HOME}",
    "$${env:HOME}",
    "${system:user.name}",
    "${",
    "${}",
    "${lakebed.dollar}",
    "$ {x}",
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with lakebed.connect(tmp_path_factory.mktemp("variables") / "lake") as lake:
        lake.catalog().create_namespace("s")
        yield lake


@pytest.mark.parametrize("is_on", ["true", "false"])
def test_a_text_is_read_as_it_is_written(spark: SparkSession, setting: Setting, is_on: str) -> None:
    with setting({SUBSTITUTE: is_on}):
        columns = ", ".join(f"'{text}' AS `c{number} {text}`" for number, text in enumerate(TEXTS))
        [found] = spark.sql(verbatim(spark, f"SELECT {columns}")).collect()
        assert found.asDict() == {f"c{number} {text}": text for number, text in enumerate(TEXTS)}
        template = verbatim_template(spark, "SELECT '${{env:HOME}}' AS `${{x}}` FROM {t}")
        assert spark.sql(template, t=spark.range(1)).collect() == [Row(**{"${x}": "${env:HOME}"})]
        assert spark.range(1).select(written_expression(spark, "'${env:HOME}'")).collect() == [("${env:HOME}",)]


def test_a_literal_of_a_statement_is_stored_as_it_is_written(spark: SparkSession, lake: Lake) -> None:
    """`'${user.name}'` was stored as an empty text, and `'${env:HOME}'` as the writer's home."""
    lake.sql(spark, "CREATE TABLE s.t (`${x}` STRING DEFAULT '${env:HOME}', n INT)")
    lake.sql(spark, "INSERT INTO s.t VALUES ('${user.name}', 1), ('${env:HOME}', 2)")
    lake.sql(spark, "INSERT INTO s.t (n) VALUES (3)")
    lake.sql(spark, "UPDATE s.t SET `${x}` = concat(`${x}`, '${y}') WHERE concat(`${x}`, '') = '${env:HOME}' AND n = 2")
    found = lake.sql(
        spark, "SELECT `${x}`, n, '${env:PATH}' AS `${env:PATH}` FROM s.t WHERE `${x}` <> '${q}' ORDER BY n"
    )
    assert found.columns == ["${x}", "n", "${env:PATH}"]
    assert [tuple(row) for row in found.collect()] == [
        ("${user.name}", 1, "${env:PATH}"),
        ("${env:HOME}${y}", 2, "${env:PATH}"),
        ("${env:HOME}", 3, "${env:PATH}"),
    ]


@pytest.mark.long
def test_a_merge_and_a_delete_compare_with_what_is_written(spark: SparkSession, lake: Lake) -> None:
    lake.sql(spark, "CREATE TABLE s.m AS SELECT '${user.name}' AS `${x}`, 1 AS n UNION ALL SELECT '${env:HOME}', 2")
    lake.sql(
        spark,
        "MERGE INTO s.m t USING (SELECT '${user.name}' AS k) s ON upper(t.`${x}`) = upper(s.k) AND '${z}' <> '' "
        "WHEN MATCHED AND t.`${x}` = '${user.name}' THEN UPDATE SET n = 9, `${x}` = concat(k, '${y}')",
    )
    lake.sql(spark, "DELETE FROM s.m WHERE `${x}` LIKE '${env:HOM_}' AND EXISTS (SELECT 1 FROM s.m WHERE n = 9)")
    assert lake.sql(spark, "SELECT * FROM s.m").collect() == [("${user.name}${y}", 9)]


def test_a_check_is_the_same_on_every_machine(spark: SparkSession, lake: Lake) -> None:
    lake.sql(spark, "CREATE TABLE s.checked (`${env:HOME}` VARCHAR(3))")
    lake.sql(spark, "ALTER TABLE s.checked ADD CONSTRAINT c CHECK (`${env:HOME}` <> 'y')")
    for text in ("long", "y"):
        with pytest.raises(Invalid, match="violate a check"):
            lake.sql(spark, f"INSERT INTO s.checked VALUES ('{text}')")
    lake.sql(spark, "INSERT INTO s.checked VALUES ('x')")
    lake.sql(spark, "CREATE VIEW s.seen AS SELECT `${env:HOME}` FROM s.checked")
    assert lake.sql(spark, "SELECT `${env:HOME}` FROM s.seen").collect() == [("x",)]


def test_a_view_of_the_session_may_have_any_name(spark: SparkSession, lake: Lake) -> None:
    lake.sql(spark, "CREATE TABLE s.one (a INT)")
    lake.sql(spark, "INSERT INTO s.one VALUES (7)")
    for name in ("`${env:HOME}`", "`a b`", "`a.b`", "`x``y`"):
        lake.sql(spark, f"CREATE TEMP VIEW {name} AS SELECT a FROM s.one")
        assert lake.sql(spark, f"SELECT v.a FROM {name} v JOIN s.one USING (a)").collect() == [(7,)]
        lake.sql(spark, f"DROP VIEW {name}")


def test_an_attached_session_leaves_texts_about_the_lake_alone(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    lake.sql(spark, "CREATE OR REPLACE TABLE s.one AS SELECT 7 AS a")
    attach(spark, lake)
    try:
        assert spark.sql("SELECT '${env:HOME}' AS h FROM s.one").collect() == [("${env:HOME}",)]
        assert spark.sql("SELECT '${spark.app.name}'").collect() != [("${spark.app.name}",)], "Spark's own text"
    finally:
        detach(spark)
