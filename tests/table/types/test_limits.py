"""Texts that would take long to read are refused at once."""

import time

import pytest

from lakebed.errors import TooLarge
from lakebed.table.filter.parse import parse_condition
from lakebed.table.types.limits import (
    BRACKETS,
    EXPRESSION_CHARACTERS,
    STATEMENT_CHARACTERS,
    check_expression,
    check_statement,
)
from lakebed.table.types.types import parse_type


@pytest.mark.parametrize(
    "text",
    [
        "id = 1 OR " * 500_000,
        "id IN (" + "1, " * 1_000_000,
        "name = '" + "x" * 4_000_000,
        "(" * 100_000,
        "(" * 100_000 + "id = 1" + ")" * 100_000,
        "abs(" * 50_000,
        "a" + "[0" * 100_000,
    ],
)
def test_a_filter_of_megabytes_took_twenty_seconds(text):
    started = time.monotonic()
    with pytest.raises(TooLarge, match=r"a filter is (too long|nested too deeply)") as caught:
        parse_condition(text)
    assert time.monotonic() - started < 3  # milliseconds on an idle machine
    assert len(str(caught.value)) < 500


def test_a_text_may_be_as_long_as_its_limit():
    check_expression("x" * EXPRESSION_CHARACTERS, "a filter")
    check_statement("x" * STATEMENT_CHARACTERS)
    with pytest.raises(TooLarge, match=r"a filter is too long .expected at most 250,000 characters, found 250,001"):
        check_expression("x" * (EXPRESSION_CHARACTERS + 1), "a filter")
    with pytest.raises(TooLarge, match="SQL is too long"):
        check_statement("x" * (STATEMENT_CHARACTERS + 1))


@pytest.mark.parametrize("before", ["", "'((((' || ", "-- ((((\n", "/* (((( */ ", "`((((` + ", '"((((" || '])
def test_brackets_in_quotes_and_comments_do_not_count(before):
    check_expression(before + "(" * BRACKETS + ")" * BRACKETS, "a filter")
    with pytest.raises(TooLarge, match="at most 100 brackets in brackets"):
        check_expression(before + "(" * (BRACKETS + 1), "a filter")


@pytest.mark.parametrize("text", ["/* " * 200_000, "\\'" * 200_000, "' " * 200_001, "`" * 200_001])
def test_quotes_without_an_end_are_looked_for_once(text):
    started = time.monotonic()
    check_statement(text)
    assert time.monotonic() - started < 10  # looked for from every place it would take hours


def test_a_type_of_many_columns_was_quadratic():
    started = time.monotonic()
    parse_type("struct<" + ", ".join(f"c{place}: int" for place in range(15_000)) + ">")
    assert time.monotonic() - started < 5
    with pytest.raises(TooLarge, match="a type is too long"):
        parse_type("x" * 3_000_000)
