"""Expressions in words: which columns they mean, their types, and what is refused."""

import pickle

import pytest

from lakebed.errors import Invalid, LakebedError, TooLarge
from lakebed.table.expression.expression import Call, ColumnOf, Function, columns_of
from lakebed.table.expression.parse import parse_expression, parse_predicate
from lakebed.table.expression.scope import SOURCE, TARGET, Scope, rows_scope
from lakebed.table.filter.column import col
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BOOLEAN, INT

SCHEMA = Schema(
    {
        "n": "int",
        "price": "decimal(10, 2)",
        "Note": "string",
        "my col": "long",
        "date": "date",
        "box": "struct<a: int, `b.c`: string>",
        "tags": "list<struct<x: int>>",
        "flag": "boolean",
        "blob": "binary",
    }
)
MERGE = Scope(
    {
        TARGET: Schema({"id": "int", "price": "int", "only_here": "int", "source": "struct<price: int, deep: int>"}),
        SOURCE: Schema({"id": "int", "price": "long", "only_there": "int"}),
    },
    0,
)


def bound(text: str) -> object:
    return parse_expression(text, rows_scope(SCHEMA))


def test_an_expression_is_a_value_with_a_type() -> None:
    found = parse_expression("n + 1", rows_scope(SCHEMA))
    assert isinstance(found, Call)
    assert (found.function, found.type) == (Function.ADD, INT)
    assert found == parse_expression("N+1", rows_scope(SCHEMA)) != parse_expression("n + 2", rows_scope(SCHEMA))
    assert pickle.loads(pickle.dumps(found)) == found
    assert {found} == {pickle.loads(pickle.dumps(found))}


@pytest.mark.parametrize("text", ["n", "N", "`n`", "(n)", "((N))"])
def test_names_are_compared_without_case(text: str) -> None:
    assert bound(text) == ColumnOf("", (SCHEMA.field("n"),))


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("`my col`", ("my col",)),
        ("date", ("date",)),
        ("box.a", ("box", "a")),
        ("BOX.`b.c`", ("box", "b.c")),
        ("note", ("Note",)),
    ],
)
def test_columns_are_found_by_any_name_that_they_may_have(text: str, way: tuple[str, ...]) -> None:
    found = bound(text)
    assert isinstance(found, ColumnOf)
    assert tuple(one.name for one in found.way) == way


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("price * 1.1", "decimal(13, 3)"),
        ("n / 2", "double"),
        ("n * 2L", "long"),
        ("CASE WHEN flag THEN n ELSE 1.5 END", "decimal(11, 1)"),
        ("note || n", "string"),
        ("n BETWEEN 1 AND 2", "boolean"),
        ("CAST(n AS timestamp_ntz)", None),
        ("CAST(date AS timestamp)", "timestamptz"),
        ("length(note)", "int"),
        ("box", "struct<a: int, `b.c`: string>"),
    ],
)
def test_the_type_is_known_before_any_row(text: str, type: str | None) -> None:
    if type is None:
        with pytest.raises(Invalid, match="cast"):
            bound(text)
    else:
        assert str(parse_expression(text, rows_scope(SCHEMA)).type) == type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sum(n)", "sum"),
        ("my_function(n)", "my_function"),
        ("n + rand()", "rand"),
        ("n IN (SELECT 1)", "in"),
        ("row_number() OVER (ORDER BY n)", "window"),
        ("n & 1", "bitwise"),
        ("n DIV 2", "div"),
        ("date + INTERVAL 1 DAY", "interval"),
        ("note RLIKE 'x'", "regexp"),
        ("note ILIKE 'x'", "ilike"),
        ("TRIM('x' FROM note)", "trim"),
        ("round(price, n)", "round"),
        ("tags[0]", "bracket"),
        ("transform(tags, x -> 1)", "transform"),
        ("EXISTS(SELECT 1)", "exists"),
        ("(n, n) IN ((1, 2))", "tuple"),
        ("?", "placeholder"),
        ("*", "star"),
        ("floor(price, 1)", "floor"),
        ("note LIKE note", "note"),
    ],
)
def test_what_is_not_known_is_named_and_left_to_spark(text: str, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        bound(text)
    assert name in str(caught.value).lower()
    assert "Spark" in caught.value.advice


@pytest.mark.parametrize(
    "text",
    [
        "n + note",
        "flag + 1",
        "- note",
        "NOT n",
        "n AND flag",
        "IF(n, 1, 2)",
        "CASE WHEN 1 THEN 2 END",
        "flag = 1",
        "coalesce(flag, 1)",
        "n IN (flag)",
        "greatest(note, 1)",
        "greatest(n)",
        "abs(note)",
        "upper(blob)",
        "note || blob",
        "CAST(date AS int)",
        "CAST(n AS date)",
        "CAST(n AS binary)",
        "CAST(box AS string)",
        "CAST(n AS smallint)",
        "CAST(n AS decimal(50, 2))",
        "box = box",
        "box IN (box)",
        "tags.element.x",
        "substring(note, 1.5, 1)",
        "date + 1",
        "isnan(note)",
        "note || n + 1",
        "1e400",
        "123456789012345678901234567890123456789",
        "1e",
        "X'0g'",
    ],
)
def test_types_that_do_not_fit_are_refused_before_any_row(text: str) -> None:
    with pytest.raises(Invalid):
        bound(text)


@pytest.mark.parametrize("text", ["", " ", "n +", "(n", "n n", "'open", "n; n", "n, n", "SELECT n", "n AS m", "-- n"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        bound(text)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(Invalid, match="text"):
        parse_expression(5, rows_scope(SCHEMA))  # type: ignore[arg-type]


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(Invalid, match=r"'prise'.*price"):
        bound("prise * 2")


def test_a_merge_has_two_sources_and_plain_names_are_those_of_the_one_that_has_them() -> None:
    def source(text: str) -> str:
        found = parse_expression(text, MERGE)
        assert isinstance(found, ColumnOf)
        return found.source

    assert source("target.price") == source("TARGET.Price") == source("only_here") == TARGET
    assert source("source.id") == source("`source`.`price`") == source("only_there") == SOURCE


def test_a_name_that_both_sources_have_is_refused_and_both_are_named() -> None:
    with pytest.raises(Invalid, match=r"'price'.*target\.price or source\.price"):
        parse_expression("price + 1", MERGE)


def test_a_source_goes_before_a_struct_of_its_name() -> None:
    [found] = columns_of(parse_expression("source.price", MERGE))
    assert (found.source, len(found.way)) == (SOURCE, 1)
    [deep] = columns_of(parse_expression("source.deep", MERGE))
    assert (deep.source, len(deep.way)) == (TARGET, 2)


def test_a_name_of_neither_source_is_refused() -> None:
    with pytest.raises(Invalid, match=r"target\.only_there"):
        parse_expression("target.only_there", MERGE)


def test_a_condition_may_be_built_in_python() -> None:
    text = "`source`.`price` > 3 AND NOT (`only_here` IN (1, 2))"
    built = (col("source.price") > 3) & ~col("only_here").is_in([1, 2])
    assert parse_predicate(built, MERGE) == parse_predicate(text, MERGE)
    assert parse_predicate(built, MERGE).type == BOOLEAN


def test_a_condition_is_true_or_false() -> None:
    with pytest.raises(Invalid, match="condition"):
        parse_predicate("n + 1", rows_scope(SCHEMA))
    assert parse_predicate("NULL", rows_scope(SCHEMA)).type == BOOLEAN


@pytest.mark.parametrize(
    "text",
    [" + ".join(["n"] * 2000), "(" * 3000 + "n" + ")" * 3000, "NOT " * 3000 + "flag", "abs(" * 400 + "n" + ")" * 400],
)
def test_an_expression_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(TooLarge):
        bound(text)


def test_many_conditions_side_by_side_are_fine() -> None:
    bound(" OR ".join(f"n = {one}" for one in range(2000)))
    bound(f"n IN ({', '.join(map(str, range(5000)))})")


@pytest.mark.parametrize(
    "text", ["'\\ud800'", "n\x00", "`", "\x00", "💥", "n +\u00a01", "1 /* open", "$x", "{n}", "a.b.c.d.e.f"]
)
def test_strange_text_is_a_typed_error_or_an_expression(text: str) -> None:
    try:
        bound(text)
    except LakebedError as error:
        assert str(error)


def test_an_expression_is_shown_as_it_is_written() -> None:
    for text in ("n + 1", "coalesce(n, 1)", "n > 1", "CAST(n AS string)", "n IN (1, 2)", "box.a", "`my col` * 2"):
        assert str(bound(text)) == text
