"""Whether the query of a view only reads the lake and computes: it runs with the rights of its reader's session.

It is judged as Spark reads it, if the session has Spark's parser here; see `reading.py`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from lakebed.errors import Forbidden
from lakebed.spark.sql.execute import index_behind_placeholders, placeholder, with_placeholders
from lakebed.spark.sql.queries import Query, Use, name_at
from lakebed.spark.sql.reading import Named, Reading, can_read, reading_of
from lakebed.spark.sql.tokens import place
from lakebed.table.sql.kept import check_function, check_kept_query, forbidden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A_VIEW = "a view"
QUOTED_NAMES = "spark.sql.ansi.doubleQuotedIdentifiers"
"""With this setting of a session, what others take for texts in double quotes are names."""


def judged(spark: "SparkSession", query: Query) -> Query:
    """The query with all tables that it reads; `Forbidden` if it does more than to read tables and to compute."""
    check_kept_query(query.words.own_text, A_VIEW)
    if '"' in query.words.own_text and str(spark.conf.get(QUOTED_NAMES, "false")).lower() == "true":
        raise forbidden(A_VIEW, f"can't have double quotes in a session with {QUOTED_NAMES}", '"')
    if can_read(spark):
        return _read_by_spark(spark, query)
    if not query.is_understood:
        raise forbidden(A_VIEW, "only Spark can tell what this query reads, which Spark Connect can't be asked", "")
    return query


def _read_by_spark(spark: "SparkSession", query: Query) -> Query:
    reading = reading_of(spark, with_placeholders(query))
    while (unknown := _unknown_table(query, reading)) is not None:
        query = replace(query, uses=(*query.uses, _use(query, unknown)))
        reading = reading_of(spark, with_placeholders(query))
    if not reading.is_query or reading.others:
        raise forbidden(A_VIEW, "can only be a query", ", ".join(reading.others) or "another statement")
    for function in reading.functions:
        try:
            check_function(function.text, A_VIEW)
        except Forbidden as error:
            error.subject = place(query.words.text, index_behind_placeholders(query, function.start))
            raise
    return query


def _unknown_table(query: Query, reading: Reading) -> Named | None:
    """A table that is not known to be one of the lake's."""
    known = {placeholder(use) for use in query.uses}
    return next(
        (
            table
            for table in reading.tables
            if table.text not in known and table.text.strip("`").casefold() not in reading.common
        ),
        None,
    )


def _use(query: Query, table: Named) -> Use:
    start = index_behind_placeholders(query, table.start)
    use = name_at(query.words, start)
    if use is None or any(known.name.start == start for known in query.uses):
        error = forbidden(A_VIEW, "can only read the lake's tables and views", table.text)
        error.subject = place(query.words.text, start)
        raise error
    return use
