"""A file with a row that a filter keeps is never cut; one whose statistics rule every row out is."""

import operator as operators
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import Comparison, Filter, Like, NoneOf, NotLike, OneOf, Operator
from lakebed.table.filter.like import prefix_pattern
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.evolution import add_column, widen_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.values import encode_bound
from tests.support.filters import NAN, SCHEMA, condition, rows
from tests.support.statistics import file_of as entry_of
from tests.support.statistics import statistics

FIELD = {field.name: field for field in SCHEMA.fields}


def file_of(table: list[dict[str, Any]]) -> DataFileRef:
    return entry_of(SCHEMA, table)


def where(text: str) -> Filter:
    return parse_filter(text, SCHEMA)


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 59), min_size=1, max_size=4), st.data())
def test_a_file_with_a_matching_row_is_never_cut(random: Random, chosen: list[int], data: st.DataObject) -> None:
    table = [ROWS[at] for at in chosen]
    file, asked = file_of(table), condition(random)
    unknown = ["value_count", "null_count", "nan_count", "lower", "upper"]
    for known in file.statistics:
        for name in data.draw(st.lists(st.sampled_from(unknown), max_size=2)):
            known.ClearField(name)
    if any(asked.kept(table)):
        assert may_match(where(asked.text), file), asked.text


ROWS = rows(Random(11), 60)


@settings(deadline=None)
@given(st.text(), st.text(), st.text(), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
def test_texts_cut_in_the_statistics_cut_no_file(first: str, second: str, value: str, sign: str) -> None:
    """All three share a prefix that is as long as bounds are, so that the bounds know it alone."""
    first, second, value = ("\U0010ffff" * 8 + one for one in (first, second, value))
    order = {
        "=": lambda a: a == value,
        "!=": lambda a: a != value,
        "<": lambda a: a < value,
        "<=": lambda a: a <= value,
    }
    order |= {">": lambda a: a > value, ">=": lambda a: a >= value}
    file = DataFileRef(statistics=[statistics(FIELD["word"], [first, second])])
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    if any(map(order[sign], (first, second))):
        assert may_match(where(f"word {sign} '{quoted}'"), file)


@pytest.mark.parametrize(
    ("name", "value"),
    [("word", "\U0010ffff" * 9), ("blob", b"\xff" * 33), ("word", "a" * 33), ("blob", b"a" * 31 + b"\xff\xff")],
)
@pytest.mark.parametrize("operator", Operator)
def test_every_operator_honours_bounds_that_were_cut_and_those_that_there_are_none_of(
    operator: Operator, name: str, value: Any
) -> None:
    """The bounds know the first 32 bytes, and of nothing but the last character or byte none lies above."""
    [known] = (file := one_column(name, value)).statistics
    assert known.HasField("upper") == (value[:1] in ("a", b"a"))
    assert len(known.lower) <= 32
    for other in (value, value[:-1], value + value[:1], value[:1] * 60):
        assert may_match(Comparison(FIELD[name], operator, other), file) or not MEANING[operator](value, other)
    assert may_match(OneOf(FIELD[name], (value,)), file)
    assert may_match(NoneOf(FIELD[name], (value[:-1],)), file)
    if name == "word":
        assert may_match(Like(FIELD[name], prefix_pattern(value)), file)
        assert may_match(NotLike(FIELD[name], prefix_pattern(value + "a")), file)
        assert not may_match(Like(FIELD[name], prefix_pattern("A")), file)


MEANING = {
    Operator.EQUAL: operators.eq,
    Operator.NOT_EQUAL: operators.ne,
    Operator.LESS: operators.lt,
    Operator.LESS_OR_EQUAL: operators.le,
    Operator.GREATER: operators.gt,
    Operator.GREATER_OR_EQUAL: operators.ge,
}


def one_column(name: str, *values: Any) -> DataFileRef:
    return DataFileRef(num_rows=len(values), statistics=[statistics(FIELD[name], list(values))])


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("small = 4", one_column("small", 1, 3)),
        ("small = 0", one_column("small", 1, 3)),
        ("small > 3", one_column("small", 1, 3)),
        ("small >= 4", one_column("small", 1, 3)),
        ("small < 1", one_column("small", 1, 3)),
        ("small <= 0.5", one_column("small", 1, 3)),
        ("small != 1", one_column("small", 1, 1, None)),
        ("small in (0, 4, 5)", one_column("small", 1, 3)),
        ("small not in (0, 1)", one_column("small", 1, 1)),
        ("small not between 0 and 5", one_column("small", 1, 3)),
        ("small is null", one_column("small", 1, 3)),
        ("small is not null", one_column("small", None, None)),
        ("small = 1", one_column("small", None, None)),
        ("small != 1", one_column("small", None)),
        ("small in (1)", one_column("small", None)),
        ("small not in (1)", one_column("small", None)),
        ("share > 2", one_column("share", 1.0, 2.0)),
        ("share != 1", one_column("share", 1.0, 1.0)),
        ("share = 'NaN'", one_column("share", 1.0, None)),
        ("share < 'NaN'", one_column("share", None)),
        ("word >= 'b'", one_column("word", "a" * 100)),
        ("word < 'a'", one_column("word", "a" * 100)),
        ("day < '1970-01-01'", one_column("day", 0, 5)),
        ("not flag", one_column("flag", True)),
        ("small = 1 and word = 'a'", one_column("small", 2)),
        ("small = 3 or small = 4", one_column("small", 1, 2)),
        ("small = null", one_column("small", 1)),
        ("word like 'b%'", one_column("word", "a", "az" * 40)),
        ("word like 'b%'", one_column("word", "c", "d")),
        ("word like 'b_c'", one_column("word", "c", "d")),
        ("word like '%c'", one_column("word", "ab", "ab", None)),
        ("word not like 'a%'", one_column("word", "a", "az" * 40)),
        ("word not like '%b'", one_column("word", "ab")),
        ("word like 'a%'", one_column("word", None)),
        ("word not like 'a%'", one_column("word", None)),
    ],
)
def test_a_file_without_a_matching_row_is_cut(text: str, file: DataFileRef) -> None:
    assert not may_match(where(text), file)


@pytest.mark.parametrize("text", ["share > 5", "share >= 5", "share != 1", "share = 'NaN'", "share not in (1, 2)"])
def test_unknown_nans_are_there(text: str) -> None:
    file = one_column("share", 1.0, 1.0)
    assert not may_match(where(text), file)
    file.statistics[0].ClearField("nan_count")
    assert may_match(where(text), file)


def test_a_bound_that_is_nan_is_none() -> None:
    file = one_column("share", 1.0, NAN)
    file.statistics[0].lower = file.statistics[0].upper = encode_bound(FIELD["share"].type, NAN)
    assert may_match(where("share < 0"), file)
    assert may_match(where("share = 1"), file)


@pytest.mark.parametrize("text", ["small = 1", "small != 1", "small is null", "small is not null", "share = 'NaN'"])
def test_a_column_without_statistics_is_unknown(text: str) -> None:
    assert may_match(where(text), DataFileRef(num_rows=3))
    assert may_match(where(text), DataFileRef(num_rows=3, statistics=[ColumnStatistics(field_id=FIELD["small"].id)]))


def test_a_filter_that_is_always_or_never_true_needs_no_statistics() -> None:
    assert may_match(where("true"), DataFileRef())
    assert not may_match(where("false"), DataFileRef())


WIDER = {
    "int": ("long", st.integers(-(2**31), 2**31 - 1), st.integers(-(2**40), 2**40)),
    "float": ("double", st.floats(width=32, allow_nan=False), st.floats(allow_nan=False)),
    "decimal(5, 2)": (
        "decimal(20, 2)",
        st.integers(-99999, 99999).map(lambda digits: Decimal(digits) / 100),
        st.integers(-(10**8), 10**8).map(lambda digits: Decimal(digits) / 100),
    ),
}


@settings(deadline=None)
@given(st.sampled_from(sorted(WIDER)), st.sampled_from(Operator), st.data())
def test_bounds_of_a_narrower_type_cut_no_file_with_a_matching_row(
    narrow: str, operator: Operator, data: st.DataObject
) -> None:
    wide, values, asked = WIDER[narrow]
    schema = with_ids(Schema({"a": narrow}), 1, 1)
    present = data.draw(st.lists(values, min_size=1, max_size=3))
    value = data.draw(asked | st.sampled_from(present))
    file = DataFileRef(num_rows=len(present), statistics=[statistics(schema.field("a"), present)])
    later = widen_column(schema, "a", wide).field("a")
    if any(MEANING[operator](one, value) for one in present):
        assert may_match(Comparison(later, operator, value), file)
    if operator is Operator.EQUAL and not min(present) <= value <= max(present):
        assert not may_match(Comparison(later, operator, value), file)


@pytest.mark.parametrize("default", [None, 7])
def test_a_file_that_is_older_than_a_column_is_never_cut_by_it(default: int | None) -> None:
    schema = with_ids(Schema({"a": "int"}), 1, 1)
    file = DataFileRef(num_rows=1, statistics=[statistics(schema.field("a"), [1])])
    later = add_column(schema, "b", "int", ids=iter([2]), default=default)
    for text in ("b = 7", "b <> 7", "b is null", "b is not null", "b in (7)", "b not in (8)", "b > 6"):
        assert may_match(parse_filter(text, later), file), text
    assert not may_match(parse_filter("b = 7 and a = 2", later), file)
