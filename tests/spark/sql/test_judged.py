"""Queries of views as Spark's own parser reads them."""

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from lakebed.errors import Forbidden
from lakebed.spark.sql.judged import QUOTED_NAMES, judged
from lakebed.spark.sql.parsing import parse_query
from lakebed.spark.sql.queries import find_uses
from lakebed.spark.sql.tokens import words_of
from tests.table.sql.test_kept import HARMFUL, HARMLESS


def test_sparks_parser_alone_finds_what_reaches_out_of_the_lake(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever sqlglot takes a text for, Spark runs what Spark reads."""
    monkeypatch.setattr("lakebed.spark.sql.judged.check_kept_query", lambda text, what: None)
    for text, found in HARMFUL.items():
        if "$" in text:  # Spark replaces it before it reads the text
            continue
        if "`" in text and "path" in found:
            continue  # a name as any other: it is looked for in the lake, and never found
        with pytest.raises((Forbidden, ParseException)):
            judged(spark, find_uses(words_of(text, ())))
    for text in ("explain select 1", "select * from stream(s)"):
        with pytest.raises(Forbidden, match="can only be a query"):
            judged(spark, parse_query(text, ()))


def test_sparks_parser_finds_the_tables_of_every_harmless_query(spark: SparkSession) -> None:
    for text in HARMLESS:
        query = find_uses(words_of(text, ()))
        assert judged(spark, query) == query, text
    unread = parse_query("select * from sales.a tablesample (3 rows) repeatable (1), lateral (select 1), sales.b", ())
    assert {use.name.spelled for use in judged(spark, unread).uses} == {"sales.a", "sales.b"}


def test_texts_that_a_session_reads_as_names_are_refused(spark: SparkSession) -> None:
    spark.conf.set(QUOTED_NAMES, "true")
    try:
        with pytest.raises(Forbidden, match="double quotes"):
            judged(spark, parse_query('select * from sales.a, "mine"', ()))
    finally:
        spark.conf.unset(QUOTED_NAMES)
