"""The clauses of a merge: plain values, checked as far as they can be without a table."""

import pickle
from typing import Any

import pytest

import lakebed
from lakebed.errors import Invalid
from lakebed.table.expression.merge_clauses import Clause, Then, When


def test_clauses_are_values() -> None:
    clause = lakebed.when_matched_update({"a": "source.a", "b": lakebed.lit([1])}, where=lakebed.col("source.a") > 1)
    assert clause == pickle.loads(pickle.dumps(clause))
    assert clause != lakebed.when_matched_update({"a": "source.a"}, where="source.a > 1")
    assert (clause.when, clause.then) == (When.MATCHED, Then.UPDATE)
    assert str(clause) == "WHEN MATCHED AND `source`.`a` > 1 THEN UPDATE"


def test_a_literal_is_a_value() -> None:
    assert lakebed.lit("x") == pickle.loads(pickle.dumps(lakebed.lit("x"))) == lakebed.lit(lakebed.lit("x"))
    assert lakebed.lit("x") != lakebed.lit("y")
    assert repr(lakebed.lit("x")) == "lit('x')"
    with pytest.raises(AttributeError):
        lakebed.lit("x").value = "y"  # type: ignore[misc]


def test_a_clause_keeps_the_values_that_it_was_given() -> None:
    values = {"a": "1"}
    clause = lakebed.when_not_matched_insert(values)
    values["a"] = "2"
    assert clause.values == (("a", "1"),)


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (lakebed.when_matched_delete(), "WHEN MATCHED THEN DELETE"),
        (lakebed.when_not_matched_insert(where="a > 1"), "WHEN NOT MATCHED AND a > 1 THEN INSERT"),
        (lakebed.when_not_matched_by_source_delete(), "WHEN NOT MATCHED BY SOURCE THEN DELETE"),
        (lakebed.when_not_matched_by_source_update({"a": "1"}), "WHEN NOT MATCHED BY SOURCE THEN UPDATE"),
    ],
)
def test_a_clause_is_shown_as_sql_writes_it(clause: Clause, text: str) -> None:
    assert str(clause) == text


@pytest.mark.parametrize("values", [{}, [("a", "1")], "a = 1"])
def test_values_are_given_by_column(values: Any) -> None:
    with pytest.raises(Invalid, match="by column"):
        lakebed.when_matched_update(values)


def test_rows_without_a_source_have_no_columns_by_name() -> None:
    with pytest.raises(Invalid, match="by column"):
        lakebed.when_not_matched_by_source_update(None)  # type: ignore[arg-type]
