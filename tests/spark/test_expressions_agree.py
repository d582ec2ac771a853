"""The local engine calculates expressions as Spark does, or refuses them: never another value."""

import datetime
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid, LakebedError
from lakebed.spark.types import schema_of, spark_schema
from lakebed.table.expression.expression import VOID, Expression
from lakebed.table.expression.parse import parse_expression
from lakebed.table.expression.scope import ROWS, rows_scope
from lakebed.table.schema.schema import Schema
from tests.support.examples import long_but

SCHEMA = Schema(
    {
        "i": "int",
        "j": "int",
        "l": "long",
        "f": "float",
        "d": "double",
        "e": "double",
        "m": "decimal(10, 2)",
        "n": "decimal(38, 10)",
        "s": "string",
        "t": "string",
        "b": "boolean",
        "c": "boolean",
        "day": "date",
        "at": "timestamptz",
        "local": "timestamp",
        "y": "binary",
        "box": "struct<a: int, inner: struct<z: string>>",
    }
)

INTS = [None, 0, 1, -1, 7, -3, 2**31 - 1, -(2**31)]
LONGS = [None, 0, 1, -1, 10**12, 2**63 - 1, -(2**63), 2**53 + 1]
FLOATS = [None, 0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 16777217.0, 0.1]
DOUBLES = [None, 0.0, -0.0, 2.675, -2.5, math.nan, math.inf, -math.inf, 1e300, 1e-7, 12345678.9]
CENTS = [None, Decimal("0.00"), Decimal("3.25"), Decimal("-3.25"), Decimal("99999999.99"), Decimal("0.05")]
BIGS = [None, Decimal(0), Decimal("1.0000000001"), Decimal("-99999999999999999999.9999999999"), Decimal(7)]
TEXTS = [
    None,
    "",
    " ",
    "x",
    "1",
    " 12 ",
    "-1.5",
    "1e2",
    "true",
    "2020-02-29",
    "2020-1-2 3:4:5.5",
    "äß😀",
    "ΑΣ",
    "NaN",
    "a\nb",
]
DAYS = [
    None,
    datetime.date(1970, 1, 1),
    datetime.date(1969, 12, 31),
    datetime.date(2020, 2, 29),
    datetime.date(9999, 12, 31),
]
MOMENTS = [
    None,
    datetime.datetime(1970, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2020, 2, 29, 12, 30, 0, 120000),
    datetime.datetime(1582, 10, 4, 1, 2, 3),
]
BYTES = [None, b"", b"\x00\xff", b"x", b"1"]
BOXES = [None, {"a": None, "inner": None}, {"a": 1, "inner": {"z": "x"}}, {"a": 2, "inner": {"z": None}}]

CALM = {
    "i": [None, 0, 1, -1, 7],
    "j": [None, 1, 2, -3],
    "l": [None, 0, 1, -5, 10**12],
    "m": [None, Decimal("0.00"), Decimal("3.25"), Decimal("-3.25")],
    "n": [None, Decimal(0), Decimal("1.0000000001"), Decimal(-7)],
}
WILD = {
    "i": INTS,
    "j": INTS,
    "l": LONGS,
    "f": FLOATS,
    "d": DOUBLES,
    "e": DOUBLES,
    "m": CENTS,
    "n": BIGS,
    "s": TEXTS,
    "t": TEXTS,
    "b": [None, True, False],
    "c": [None, True, False],
    "day": DAYS,
    "at": [one if one is None else one.replace(tzinfo=datetime.UTC) for one in MOMENTS],
    "local": MOMENTS,
    "y": BYTES,
    "box": BOXES,
}


@pytest.fixture(autouse=True)
def each_for_itself(setting: Callable[[dict[str, str]], AbstractContextManager[None]]) -> Iterator[None]:
    """Spark calculates what two columns share once, and then also in rows in which neither would look at it."""
    with setting({"spark.sql.subexpressionElimination.enabled": "false"}):
        yield


def rows(seed: int, count: int, **values: Sequence[Any]) -> pyarrow.RecordBatch:
    """Rows with values that are picked by chance, the same at every run."""
    chance = random.Random(seed)
    given = WILD | values
    made = [{name: chance.choice(given[name]) for name in SCHEMA.names} for _ in range(count)]
    return pyarrow.RecordBatch.from_pylist(made, schema=arrow_schema(SCHEMA))


def frame(spark: SparkSession, batch: pyarrow.RecordBatch) -> DataFrame:
    """The same rows in Spark, in one partition, so that they stay in order."""
    return spark.createDataFrame(pyarrow.Table.from_batches([batch]), spark_schema(SCHEMA)).coalesce(1)


def bound(text: str) -> Expression:
    return parse_expression(text, rows_scope(SCHEMA))


def calculated(expression: Expression, batch: pyarrow.RecordBatch) -> list[Any]:
    return evaluate(expression, Rows({ROWS: batch}, batch.num_rows)).to_pylist()


def plain(value: Any) -> Any:
    """A value that equals only the same one: NaN is itself, the zeros differ, and instants have no zone."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
    return bytes(value) if isinstance(value, bytearray) else value


def check(spark: SparkSession, texts: Sequence[str], batch: pyarrow.RecordBatch) -> int:
    """Compare with Spark; answer how many expressions have values for all rows."""
    table = frame(spark, batch)
    known: dict[str, list[Any]] = {}
    for text in texts:
        try:
            expression = bound(text)
        except LakebedError:
            continue  # refused: whoever asks is told to give it to Spark
        try:
            known[text] = calculated(expression, batch)
        except Invalid:
            assert failure(table, text), f"Spark has values for {text}"
    _compare(table, known)
    return len(known)


def failure(table: DataFrame, text: str) -> str:
    """Why Spark has no values for all rows; empty if it has."""
    try:
        table.selectExpr(f"{text} AS v").toArrow()
    except PySparkException as error:
        return str(error)
    return ""


def _compare(table: DataFrame, known: dict[str, list[Any]]) -> None:
    texts = [*known]
    found = table.selectExpr(*(f"{text} AS v{index}" for index, text in enumerate(texts)))
    try:
        values = found.toArrow()
    except PySparkException:
        assert [(text, why) for text in texts if (why := failure(table, text))] == []
        raise
    for index, text in enumerate(texts):
        if (type := bound(text).type) != VOID:
            assert schema_of(found.select(f"v{index}").schema).fields[0].type == type, text
        theirs = values.column(f"v{index}").to_pylist()
        assert [plain(one) for one in known[text]] == [plain(one) for one in theirs], text


class Writer:
    """Writes expressions by chance, of a kind that is asked for."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def any(self, depth: int = 3) -> str:
        return self.pick(self.number, self.text, self.truth, self.moment)(depth)

    def pick(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def number(self, depth: int) -> str:
        if depth == 0:
            return str(self.pick(*"ijldefmn", "box.a", "0", "1", "-7", "2.5", "0.1", "1e3", "3L", "100", "NULL"))
        one, other = self.number(depth - 1), self.number(depth - 1)
        return str(
            self.pick(
                f"({one} {self.pick(*'+-*/%')} {other})",
                f"({one} {self.pick(*'+-*')} {other})",
                f"({one} / NULLIF({other}, 0))",
                f"(- {one})",
                f"abs({one})",
                f"round({one}, {self.pick(0, 1, 2, -1, 5)})",
                f"{self.pick('floor', 'ceil')}({one})",
                f"{self.pick('greatest', 'least', 'coalesce')}({one}, {other}, {self.number(0)})",
                f"nullif({one}, {other})",
                f"length({self.text(depth - 1)})",
                f"{self.pick('CAST', 'TRY_CAST')}({self.any(depth - 1)} AS {self.number_type()})",
                self.case(self.number, depth),
            )
        )

    def number_type(self) -> str:
        return str(self.pick("int", "bigint", "float", "double", "decimal(10, 2)", "decimal(38, 6)", "decimal(5, 5)"))

    def text(self, depth: int) -> str:
        if depth == 0:
            return str(self.pick("s", "t", "box.inner.z", "'x'", "'1'", "' ß '", "''", "NULL"))
        one, other = self.text(depth - 1), self.text(depth - 1)
        return str(
            self.pick(
                f"({one} || {other})",
                f"concat({one}, {self.any(depth - 1)})",
                f"{self.pick('upper', 'lower', 'trim', 'ltrim', 'rtrim')}({one})",
                f"substring({one}, {self.pick('1', '2', '-2', '0', 'j')}, {self.pick('0', '1', '3', '-1')})",
                f"{self.pick('greatest', 'least', 'coalesce')}({one}, {other})",
                f"CAST({self.any(depth - 1)} AS string)",
                self.case(self.text, depth),
            )
        )

    def truth(self, depth: int) -> str:
        if depth == 0:
            return str(self.pick("b", "c", "TRUE", "FALSE", "NULL", "(s IS NULL)", "(d IS NOT NULL)"))
        kind = self.pick(self.number, self.text, self.moment, self.truth)
        one, other = kind(depth - 1), kind(depth - 1)
        return str(
            self.pick(
                f"({one} {self.pick('=', '!=', '<', '<=', '>', '>=', '<=>')} {other})",
                f"({self.truth(depth - 1)} {self.pick('AND', 'OR')} {self.truth(depth - 1)})",
                f"(NOT {self.truth(depth - 1)})",
                f"({one} IS {self.pick('', 'NOT ')}NULL)",
                f"({self.truth(depth - 1)} IS {self.pick('', 'NOT ')}{self.pick('TRUE', 'FALSE')})",
                f"({one} {self.pick('', 'NOT ')}IN ({other}, {kind(0)}))",
                f"({one} {self.pick('', 'NOT ')}BETWEEN {other} AND {kind(0)})",
                f"({self.text(depth - 1)} LIKE '{self.pick('%1%', '_', 'x%', '%', 'a_b')}')",
                f"isnan({self.pick('d', 'f', 'e')})",
                f"TRY_CAST({self.text(depth - 1)} AS boolean)",
                self.case(self.truth, depth),
            )
        )

    def moment(self, depth: int) -> str:
        literals = "DATE '2020-02-29'", "TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP_NTZ '2020-01-01 12:00:00'"
        if depth == 0:
            return str(self.pick("day", "at", "local", *literals))
        one, other = self.moment(depth - 1), self.moment(depth - 1)
        types = self.pick("date", "timestamp", "timestamp_ntz")
        return str(
            self.pick(
                f"{self.pick('greatest', 'least', 'coalesce')}({one}, {other})",
                f"TRY_CAST({self.pick(self.text, self.moment)(depth - 1)} AS {types})",
                self.case(self.moment, depth),
            )
        )

    def case(self, kind: Callable[[int], str], depth: int) -> str:
        condition, one, other = self.truth(depth - 1), kind(depth - 1), kind(depth - 1)
        return str(
            self.pick(
                f"IF({condition}, {one}, {other})",
                f"CASE WHEN (NOT {condition}) THEN {one} WHEN {self.pick('b', 'c', 's IS NULL')} THEN {other} END",
                f"CASE {kind(0)} WHEN {kind(0)} THEN {one} ELSE {other} END",
            )
        )


def lines(text: str) -> list[str]:
    return [one.strip() for one in text.strip().splitlines()]


ARITHMETIC = lines("""
    i + j
    i + l
    i + f
    l * f
    i + m
    l * m
    1 + m
    m * 1.1
    m / 3
    m / NULLIF(m, 0)
    n / NULLIF(n, 0)
    n * n
    n + n
    n - m
    m % 3
    i / 2
    -7 % 3
    7 % -3
    -7.5D % 2
    l % NULLIF(i, 0)
    -9223372036854775808 % -1
    NULL / m
    m / NULL
    m * NULL
    NULL + 1
    f / 3
    d - e
    f * d
    d * m
    abs(m)
    - m
    - f
    99999999999999999999999999999999999999 * 0.1
    1e38 * 10BD
""")
NUMBERS = lines("""
    round(2.675D, 2)
    round(-2.5D)
    round(1.005D, 2)
    round(f, 1)
    round(d, 1)
    round(i, -1)
    round(l, -3)
    round(m)
    round(m, 1)
    round(m, 5)
    round(m, -1)
    round(m, -12)
    round(5, 10)
    floor(i)
    floor(m)
    ceil(m)
    ceil(-2.5D)
    floor(double('NaN'))
    floor(-1.5)
    floor(round(m))
    greatest(1, 2.5)
    greatest(i, NULL)
    greatest(f, d, double('NaN'))
    least(d, e)
    greatest(b, FALSE)
    1e3
    1.10
    .5
    100.
    0.001
    1L
    2147483648
    -2147483648
    9223372036854775808
    1.5D
    1.5F
    1.5BD
""")
TEXT = lines(r"""
    s || t
    s || 1
    1 + 2 || '3'
    s || day
    s || at
    s || m || d || b
    y || y
    concat(i, l)
    concat(s)
    upper(s)
    lower(s)
    upper('straße')
    lower('ΑΣ')
    upper(b)
    trim(s)
    ltrim(s)
    rtrim(s)
    trim(' \t a \n')
    length(s)
    length(y)
    length(i)
    length('äö😀')
    substring(s, 2, 2)
    substring(s, -2, 1)
    substring(s, 0, 2)
    substring(s, 2)
    substring(s, i, 2)
    substring(s, 2, -1)
    substring('abc', NULL, 1)
    substring(12345, 2, 2)
    'a\nb\\c\%d\_e\u0041\x'
    s LIKE '%1%'
    s LIKE '_'
    s LIKE 'a%b'
    s NOT LIKE 'x!_%' ESCAPE '!'
    i LIKE '1'
""")
TRUTH = lines("""
    b AND c
    b OR c
    NOT b
    NULL AND FALSE
    b IS TRUE
    b IS NOT FALSE
    i = '1'
    i = j
    d = e
    d < e
    d >= e
    f = d
    f = 0.1
    d = m
    n > m
    i = 1.0
    day < at
    day = local
    at = local
    y = 'x'
    y < y
    b = 'true'
    day = '2020-02-29'
    at >= '2020-02-29 12:00:00'
    i <=> j
    d <=> e
    s <=> NULL
    i IN (1, 2.5, NULL)
    i NOT IN (1, 7)
    s IN ('x', '', t)
    d IN (0.0D, double('NaN'))
    i BETWEEN j AND 1.5
    isnan(d)
    isnan(i)
    isnan(NULL)
    isnull(s)
    isnotnull(s)
    box.a = 1
    box.inner.z IS NULL
    box.inner IS NULL
    box IS NOT NULL
    NULL = NULL
""")
CHOICES = lines("""
    CASE WHEN i = 0 THEN 0 ELSE 1 / i END
    IF(i != 0, 10 % i, NULL)
    i != 0 AND 10 / i > 2
    i = 0 OR i IS NULL OR 10 / i > 2
    CASE i WHEN 1.0 THEN 'a' WHEN 7 THEN 'b' END
    CASE WHEN b THEN NULL ELSE 1 END
    IF(b, 1, 2.5)
    IF(b, 1, '7')
    IF(NULL, 1, 2)
    coalesce(i, 1 / nullif(j, 0))
    coalesce(i, m)
    coalesce(i, f)
    coalesce(l, d)
    coalesce(day, at)
    coalesce(day, local)
    coalesce(local, at)
    coalesce(NULL, NULL)
    coalesce('a', y)
    coalesce(l, CAST(0.5 AS decimal(38, 38)))
    nvl(s, t)
    nullif(i, 1.0)
    nullif(NULL, 1)
    nullif(s, t)
""")
CASTS = lines("""
    TRY_CAST(s AS int)
    TRY_CAST(s AS bigint)
    TRY_CAST(s AS double)
    TRY_CAST(s AS float)
    TRY_CAST(s AS decimal(5, 1))
    TRY_CAST(s AS boolean)
    TRY_CAST(s AS date)
    TRY_CAST(s AS timestamp)
    TRY_CAST(s AS timestamp_ntz)
    CAST(s AS binary)
    TRY_CAST(d AS int)
    TRY_CAST(d AS bigint)
    TRY_CAST(d AS decimal(12, 1))
    TRY_CAST(f AS decimal(20, 18))
    TRY_CAST(l AS int)
    TRY_CAST(m AS int)
    TRY_CAST(m AS decimal(3, 1))
    TRY_CAST(n AS bigint)
    TRY_CAST(i AS decimal(3, 1))
    CAST(d AS float)
    CAST(f AS double)
    CAST(l AS float)
    CAST(l AS double)
    CAST(m AS double)
    CAST(n AS float)
    CAST(n AS double)
    CAST(d AS string)
    CAST(f AS string)
    CAST(m AS string)
    CAST(n AS string)
    CAST(b AS string)
    CAST(day AS string)
    CAST(at AS string)
    CAST(local AS string)
    CAST(b AS int)
    CAST(b AS double)
    CAST(b AS decimal(3, 1))
    CAST(i AS boolean)
    CAST(d AS boolean)
    CAST(m AS boolean)
    CAST(day AS timestamp)
    CAST(day AS timestamp_ntz)
    CAST(at AS date)
    CAST(local AS date)
    CAST(local AS timestamp)
    CAST(at AS timestamp_ntz)
    CAST(1e10 AS string)
    CAST(0.0001D AS string)
    CAST(0.0000000001 AS string)
    CAST(DATE '12345-01-01' AS string)
    CAST(2147483647.9D AS int)
    CAST('2020-1-2 xx' AS date)
    CAST('2020' AS date)
    CAST('2020-01-02 3:4:5.123456789' AS timestamp)
    CAST('2020-01-02 03:04:05+01:00' AS timestamp)
    CAST('2020-01-02 03:04:05 Europe/Berlin' AS timestamp)
    CAST('2020-07-02 03:04:05 America/New_York' AS timestamp)
    CAST('2020-01-02 03:04:05+01:00' AS timestamp_ntz)
    CAST('2020-01-02 03' AS timestamp)
    TRY_CAST('2020-01-02T03:04Z' AS timestamp)
    TRY_CAST('2020-02-30' AS date)
    DATE '2020-02-29'
    TIMESTAMP '2020-02-29 12:00:00'
    TIMESTAMP_NTZ '2020-02-29 12:00:00'
    X'00ff'
""")
FAILURES = lines("""
    i + 2147483647
    l * 9223372036854775807
    abs(i)
    - l
    i / 0
    i % (i - i)
    d / 0
    d % 0.0
    m / 0
    m % 0
    CAST(s AS int)
    CAST(s AS date)
    CAST(s AS boolean)
    CAST(d AS int)
    CAST(d AS bigint)
    CAST(m AS decimal(3, 2))
    CAST(l AS int)
    s = 1
    s < day
    round(2147483647 + i - i, -1)
    99999999999999999999999999999999999999 + m
    IF(b, CAST(s AS int), 1)
""")


@pytest.mark.parametrize("texts", [ARITHMETIC, NUMBERS, TEXT, TRUTH, CHOICES, CASTS], ids="anxtcv")
def test_every_kind_of_expression_has_the_values_and_the_type_that_spark_gives_it(
    spark: SparkSession, texts: list[str]
) -> None:
    assert check(spark, texts, rows(7, 60, **CALM)) == len(texts)


@pytest.mark.since("4.1", "a doubled quote is one")
def test_a_doubled_quote_is_one_quote(spark: SparkSession) -> None:
    assert check(spark, ["'it''s'"], rows(7, 1, **CALM)) == 1


TOO_LARGE = pytest.param("floor(1e300 + d - d)", marks=pytest.mark.since("4.3", "floor fails at what no bigint holds"))


@pytest.mark.parametrize("text", [*long_but(FAILURES, FAILURES[::4]), TOO_LARGE])
def test_what_spark_has_no_value_for_is_an_error_that_names_the_expression(spark: SparkSession, text: str) -> None:
    batch = rows(8, 60)
    with pytest.raises(Invalid) as caught:
        calculated(bound(text), batch)
    assert caught.value.subject
    assert failure(frame(spark, batch), text)


@pytest.mark.parametrize("seed", long_but(range(2), [0]))
def test_expressions_that_are_written_by_chance_have_the_values_that_spark_gives_them(
    spark: SparkSession, seed: int
) -> None:
    writer = Writer(seed)
    texts = [writer.any(depth) for depth in (1, 2, 3) for _ in range(25)]
    assert check(spark, texts, rows(seed, 12, **CALM)) > 25
