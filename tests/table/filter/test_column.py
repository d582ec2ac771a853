"""Conditions built in Python say what the same words say, and refuse what words refuse."""

import datetime
import math
from decimal import Decimal
from uuid import UUID

import numpy
import pandas
import pytest

import lakebed
from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter.bind import TERMS, bind
from lakebed.table.filter.column import Column, col
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema, with_ids
from tests.support.filters import SCHEMA

EVERY = with_ids(
    Schema(
        {one.name: one.type for one in SCHEMA.fields}
        | {"at": "time", "u": "uuid", "f": "fixed(2)", "ns": "timestamp_ns", "nz": "timestamptz_ns"}
        | {"a": "struct<b: int, `x.y`: string>", "a.b": "string"}
    ),
    1,
    1,
)
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
ID = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (col("small") == 17, "small = 17"),
        (col("SMALL") != 17, "small <> 17"),
        (col("small") < 2.5, "small < 2.5"),
        (col("small") <= Decimal("2.5"), "small <= 2.5"),
        (col("small") > 10**30, "small > 1000000000000000000000000000000"),
        (17 < col("small"), "small > 17"),  # noqa: SIM300
        (17 >= col("small"), "small <= 17"),  # noqa: SIM300
        (col("small") == numpy.int64(17), "small = 17"),
        (col("share") == numpy.float64(0.1), "share = 0.1"),
        (col("ratio") == 0.1, "ratio = 0.1"),
        (col("share") < math.inf, "share < 'Infinity'"),
        (col("share") > -math.inf, "share > '-Infinity'"),
        (col("share") > 1e-300, "share > 1e-300"),
        (col("price") == Decimal("2.50"), "price = 2.5"),
        (col("price") == 2.5, "price = 2.5"),
        (col("price") == Decimal("1E+3"), "price = 1000"),
        (col("flag") == True, "flag"),  # noqa: E712
        (col("flag") == False, "flag = false"),  # noqa: E712
        (col("word") == "it's \\ \x00", "word = 'it\\'s \\\\ \x00'"),
        (col("blob") == b"\x00\xff", "blob = X'00ff'"),
        (col("blob") == bytearray(b"a"), "blob = X'61'"),
        (col("day") == datetime.date(2026, 1, 31), "day = '2026-01-31'"),
        (col("local") == datetime.datetime(2026, 1, 31, 1, 2, 3, 4), "local = '2026-01-31 01:02:03.000004'"),
        (col("local") >= datetime.date(2026, 1, 31), "local >= '2026-01-31'"),
        (col("instant") == datetime.datetime(2026, 1, 31, 1, tzinfo=BERLIN), "instant = '2026-01-31 00:00Z'"),
        (col("instant") == datetime.datetime(2026, 1, 31), "instant = '2026-01-31'"),
        (col("ns") == pandas.Timestamp("2026-01-31 00:00:00.000000001"), "ns = '2026-01-31 00:00:00.000000001'"),
        (col("nz") == pandas.Timestamp("2026-01-31", tz="UTC"), "nz = '2026-01-31'"),
        (col("at") == datetime.time(23, 59, 59, 1), "at = '23:59:59.000001'"),
        (col("at") == datetime.time(23, 59), "at = TIME '23:59:00'"),
        (col("u") == ID, f"u = '{ID}'"),
        (col("f") == b"\x00\xff", "f = X'00ff'"),
        (col("small").is_in([1, 2.5, 3]), "small in (1, 3)"),
        (~col("small").is_in((1, 3)), "small not in (1, 3)"),
        (col("small").is_in(iter([])), "false"),
        (~col("small").is_in([]), "true"),
        (col("small").between(1, 3), "small between 1 and 3"),
        (~col("small").between(1, 3), "small not between 1 and 3"),
        (col("small").is_null(), "small is null"),
        (col("small").is_not_null(), "small is not null"),
        (~col("small").is_null(), "small is not null"),
        (col("share").is_nan(), "isnan(share)"),
        (~col("share").is_nan(), "not isnan(share)"),
        (col("word").starts_with("a%"), "word like 'a!%%' escape '!'"),
        (col("word").starts_with(""), "word is not null"),
        (col("word").like("a%b_"), "word like 'a%b_'"),
        (col("word").like("a!%", escape="!"), "word = 'a%'"),
        (~col("word").like("a%b_"), "word not like 'a%b_'"),
        (col("a.b") == 1, "a.b = 1"),
        (col("a", "b") == 1, "a.b = 1"),
        (col("a", "x.y") == "z", "a.`x.y` = 'z'"),
        (col("a.`x.y`") == "z", "a.`x.y` = 'z'"),
        (col("`a.b`") == "z", "`a.b` = 'z'"),
        (col("flag") & (col("small") > 1) | ~col("flag"), "(flag and small > 1) or not flag"),
    ],
)
def test_python_and_words_say_the_same(built: Condition, text: str) -> None:
    assert bind(built, EVERY) == bind(text, EVERY)
    assert bind(str(built), EVERY) == bind(text, EVERY)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "is_null"),
        (math.nan, "is_nan"),
        (Decimal("NaN"), "is_nan"),
        (Decimal("Infinity"), "Infinity"),
        ([1], "list"),
        (1j, "complex"),
        (object(), "object"),
        (col("b"), "Column"),
        (datetime.timedelta(1), "timedelta"),
        (datetime.time(1, tzinfo=datetime.UTC), "time"),
        (datetime.datetime.max.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=1))), "datetime"),
        (10**500, "digits"),
    ],
)
def test_what_is_no_value_is_refused_with_the_columns_name(value: object, found: str) -> None:
    for use in (
        lambda: col("a.b") == value,
        lambda: col("a.b").is_in([1, value]),
        lambda: col("a.b").between(1, value),
    ):
        with pytest.raises(Invalid, match=rf"column 'a\.b'.*{found}"):
            use()


@pytest.mark.parametrize(
    "built",
    [
        col("small") == "a",
        col("small") == True,  # noqa: E712
        col("small") == b"a",
        col("small") == datetime.date(2026, 1, 1),
        col("small").is_nan(),
        col("small").like("1%"),
        col("small").starts_with(""),
        col("flag") == 1,
        col("word") == 1,
        col("word").is_nan(),
        col("day") == 1,
        col("day") == datetime.datetime(2026, 1, 1),
        col("local") == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        col("blob") == "a",
        col("f") == b"abc",
        col("u") == "a",
        col("at") == datetime.date(2026, 1, 1),
        col("a.b") == "x",
        col("word") == "\ud800",
    ],
)
def test_a_value_that_does_not_fit_its_column_is_refused(built: Condition) -> None:
    name = ".".join(built.names)  # type: ignore[attr-defined]
    with pytest.raises(Invalid, match=f"column '{name}' of type"):
        bind(built, EVERY)


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "`a", "a`b", "``", "`a`b"])
def test_what_names_no_column_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="not the name of a column"):
        col(name)


def test_a_name_is_text() -> None:
    with pytest.raises(Invalid, match="expected str"):
        col(1)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="expected str"):
        col("a", 1)  # type: ignore[arg-type]


def test_lists_and_patterns_are_checked() -> None:
    with pytest.raises(Invalid, match="values must be a list"):
        col("a").is_in("abc")
    with pytest.raises(Invalid, match="values must be a list"):
        col("a").is_in(1)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="a pattern must be text"):
        col("a").like(b"a")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="a pattern must be text"):
        col("a").starts_with(1)  # type: ignore[arg-type]


def test_what_is_no_filter_is_refused() -> None:
    for one in (17, True, [col("flag")], None):
        with pytest.raises(Invalid, match="not a filter"):
            bind(one, SCHEMA)  # type: ignore[arg-type]


def test_conditions_are_as_long_as_engines_allow() -> None:
    long = col("small") != 0
    for at in range(1, TERMS):
        long = long & (col("small") != at)
    assert bind(long, SCHEMA) == bind(str(long), SCHEMA)
    with pytest.raises(TooLarge, match="too many terms"):
        bind(long & (col("small") != TERMS), SCHEMA)
    deep = col("small") != 0
    for at in range(5000):
        deep = (deep & (col("small") != at)) | (col("big") == at)
    with pytest.raises(TooLarge, match="nested too deeply"):
        bind(deep, SCHEMA)


def test_a_column_has_no_hash_since_it_equals_nothing_yet() -> None:
    with pytest.raises(TypeError):
        hash(col("a"))


def test_col_is_what_the_package_exports() -> None:
    assert lakebed.col is col
    assert isinstance(col("a"), Column)
