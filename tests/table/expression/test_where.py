"""Conditions: what a filter can express, and the predicates that are left for the rows."""

import pytest

from lakebed.errors import Invalid
from lakebed.table.expression.where import bind_where
from lakebed.table.filter.bind import bind
from lakebed.table.filter.column import col
from lakebed.table.filter.filter import ALWAYS, fields_of, predicates_of, without_predicates
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

SCHEMA = with_ids(
    Schema([Field("id", "long"), Field("a", "int"), Field("my col", "double"), Field("name", "string")]), 1, 1
)


@pytest.mark.parametrize(
    ("where", "filter", "predicates", "columns"),
    [
        ("id = 1", "id = 1", [], {"id"}),
        ("id = 1 or name is null", "id = 1 or name is null", [], {"id", "name"}),
        ("id > a", None, ["id > a"], {"id", "a"}),
        ("id > 1 and id > a and name = 'x'", "id > 1 and name = 'x'", ["id > a"], {"id", "a", "name"}),
        ("id = 1 or id > a", None, ["id = 1 or id > a"], {"id", "a"}),
        ("upper(name) = 'X' and a + 1 = 2", None, ["upper(name) = 'X'", "a + 1 = 2"], {"name", "a"}),
        ("_row_id = 17", None, ["_row_id = 17"], {"_row_id"}),
        ("id = 3 and _POS in (1, 2)", "id = 3", ["_POS in (1, 2)"], {"id", "_pos"}),
        ("1 = 1", None, ["1 = 1"], set()),
    ],
)
def test_conjuncts_that_bind_prune_and_the_rest_is_left(where, filter, predicates, columns):
    found = bind_where(where, SCHEMA)
    assert without_predicates(found.filter) == (ALWAYS if filter is None else bind(filter, SCHEMA))
    assert [one.text for one in predicates_of(found.filter)] == predicates
    assert {field.name for field in fields_of(found.filter)} == columns
    assert bind(found.text, SCHEMA) == without_predicates(found.filter)


def test_a_condition_of_python_is_bound_whole():
    assert bind_where(col("id") > 1, SCHEMA).filter == bind("id > 1", SCHEMA)
    with pytest.raises(Invalid, match="not a filter"):
        bind_where(5, SCHEMA)


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("id = 'abc'", r"column 'id' of type long: .*does not fit its type"),
        ("id = 'abc' and id > a", r"column 'id' of type long: .*does not fit its type"),
        ("nothing > a", "'nothing': there is no such column"),
        ("nothing = 1", "'nothing': there is no such column"),
        ("id > a and nothing = 1", "'nothing': there is no such column"),
        ("soundex(name) = 'x'", r"does not know this expression .*Only Spark evaluates this: pass spark="),
        ("id + 1", "expected a condition"),
        ("id >", "can't be read"),
        ('"my col" > 0.5', "double quotes are for texts.*Write the column in backticks: `my col`"),
        ('id = 1 and "MY COL" is null', "Write the column in backticks: `my col`"),
        ('"my col" + 1 > 0.5', "Write the column in backticks: `my col`"),
    ],
)
def test_a_condition_that_means_nothing_is_refused_with_the_reason(where, problem):
    with pytest.raises(Invalid, match=problem):
        bind_where(where, SCHEMA)


def test_a_text_in_double_quotes_is_a_text():
    assert bind_where('name = "my col"', SCHEMA).filter == bind("name = 'my col'", SCHEMA)
    assert predicates_of(bind_where('upper(name) = "other"', SCHEMA).filter)
