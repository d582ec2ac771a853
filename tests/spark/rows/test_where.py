"""Conditions in two parts: what Lakebed plans by, and what only Spark can say."""

import pytest

from lakebed import Field, Invalid, Schema, col
from lakebed.spark.expressions import ANSI
from lakebed.spark.rows.where import bind_where, passing_rows
from lakebed.table.filter.bind import bind
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.schema.schema import with_ids

SCHEMA = with_ids(Schema([Field("id", "long"), Field("name", "string"), Field("end", "int")]), 1, 1)


@pytest.mark.parametrize(
    ("where", "filter", "rest"),
    [
        ("id = 1", "id = 1", ()),
        ("id = 1 OR name = 'a'", "id = 1 OR name = 'a'", ()),
        ("id = 1 AND upper(name) = 'A'", "id = 1", ("upper(name) = 'A'",)),
        ("length(name) > 1 AND id BETWEEN 1 AND 3 AND name LIKE 'a%'", "id BETWEEN 1 AND 3 AND name LIKE 'a%'", 1),
        ("id = 1 OR upper(name) = 'A'", None, ("id = 1 OR upper(name) = 'A'",)),
        ("id + 1 = 2", None, ("id + 1 = 2",)),
        ("nothing = 1 AND id = 1", "id = 1", ("nothing = 1",)),
    ],
)
def test_pieces_that_statistics_know_become_the_filter(where, filter, rest):
    found = bind_where(where, SCHEMA)
    assert found.filter == (ALWAYS if filter is None else bind(filter, SCHEMA))
    assert found.rest == rest if isinstance(rest, tuple) else len(found.rest) == rest
    assert bind(found.filter_text, SCHEMA) == found.filter


def test_a_condition_of_python_is_bound_whole_or_refused():
    assert bind_where(col("id") > 1, SCHEMA).filter == bind("id > 1", SCHEMA)
    with pytest.raises(Invalid, match="no such column"):
        bind_where(col("nothing") > 1, SCHEMA)
    with pytest.raises(Invalid, match="not a filter"):
        bind_where(5, SCHEMA)


@pytest.fixture
def rows(spark):
    return spark.range(3).selectExpr("id", "'a' AS name", "cast(id AS int) AS end")


def test_the_rest_is_run_by_spark(rows):
    where = bind_where("id > 0 AND pow(id, 2) = 4", SCHEMA)
    assert [one.id for one in passing_rows(rows, where, "t").collect()] == [2]
    assert passing_rows(rows, bind_where("id = 1", SCHEMA), "t") is rows


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("upper(nam) = 'A'", "`nam`: there is no such column"),
        ("nosuch(id) = 1", "can't be read by Spark"),
        ("id +", "can't be read by Spark"),
        ("id + 1", "neither true nor false"),
        ("", "can't be read by Spark"),
    ],
)
def test_what_spark_does_not_know_either_is_refused_with_the_table_and_the_words(rows, where, told):
    with pytest.raises(Invalid, match="sales") as caught:
        passing_rows(rows, bind_where(where, SCHEMA), "sales.orders")
    assert told in str(caught.value)
    assert "lakebed." not in str(caught.value)


def test_a_session_without_ansi_mode_is_refused_where_it_would_matter(rows, setting):
    with setting({ANSI: "false"}):
        assert passing_rows(rows, bind_where("id = 1", SCHEMA), "t") is rows
        with pytest.raises(Invalid, match="ansi"):
            passing_rows(rows, bind_where("1 / id > 1", SCHEMA), "t")
