"""Spark's transforms, against those that the local engine has value by value."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.write.transforms import TOO_NEAR, Term, micros, with_terms
from lakebed.table.partition.transforms import Transform, parse_transform
from lakebed.table.types.types import (
    BINARY,
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Type,
)
from lakebed.table.types.values import scaled
from tests.support.examples import long_but

Setting = Callable[[dict[str, str]], AbstractContextManager[None]]

ROWS = 400
DAY = 86_400_000_000
CHANCE = random.Random(11)
NUMBERS = [0, 1, -1, 9, 10, -9, -10, -11, *(CHANCE.randrange(-(2**31) + 1000, 2**31) for _ in range(ROWS))]
DAYS = [0, -1, 1, 364, 365, -365, -366, -719_162, -719_163, 2_932_896, -800_000, 3_000_000, 10**8, -(10**8)]
TIMES = [0, -1, 1, DAY, DAY - 1, -DAY, -DAY - 1, -(2**63), 2**63 - 1]
LETTERS = "aZ\0é日\U0001f600"

TYPES: dict[Type, tuple[pyarrow.DataType, list[Any], list[str]]] = {
    INT: (pyarrow.int32(), NUMBERS, ["bucket[7]", "truncate[10]", "truncate[999]", "identity", "void"]),
    LONG: (pyarrow.int64(), [2**63 - 1, *(one << 31 for one in NUMBERS)], ["bucket[7]", "truncate[10]", "truncate[7]"]),
    DATE: (pyarrow.date32(), [*DAYS, *(one % 10**6 for one in NUMBERS)], ["bucket[7]", "year", "month", "day"]),
    TIMESTAMP: (
        pyarrow.timestamp("us"),
        [*TIMES, *(one << 20 for one in NUMBERS)],
        ["bucket[7]", "year", "month", "day", "hour"],
    ),
    TIMESTAMPTZ: (
        pyarrow.timestamp("us", "UTC"),
        [*TIMES, *(one << 20 for one in NUMBERS)],
        ["bucket[7]", "year", "month", "day", "hour"],
    ),
    STRING: (
        pyarrow.string(),
        ["", *("".join(CHANCE.choices(LETTERS, k=at % 8)) for at in range(ROWS))],
        ["bucket[7]", "truncate[1]", "truncate[3]"],
    ),
    BINARY: (
        pyarrow.binary(),
        [b"", *(CHANCE.randbytes(at % 8) for at in range(ROWS))],
        ["bucket[7]", "truncate[1]", "truncate[3]"],
    ),
    Decimal(9, 2): (
        pyarrow.decimal128(9, 2),
        [scaled(one % (2 * 10**8) - 10**8, 2) for one in NUMBERS],
        ["truncate[1]", "truncate[7]", "truncate[1000]"],
    ),
    Decimal(38, 6): (
        pyarrow.decimal128(38, 6),
        [scaled(one * 10**27, 6) for one in NUMBERS],
        ["bucket[7]", "truncate[7]"],
    ),
    Decimal(37, 20): (pyarrow.decimal128(37, 20), [scaled(one * 10**27 + 3, 20) for one in NUMBERS], ["truncate[7]"]),
}


def rows(spark: SparkSession) -> tuple[dict[Type, list[Any]], Any]:
    """Values of all types beside one another, nulls among them; not a table of the driver's, which it would fold."""
    longest = max(len(values) for _, values, _ in TYPES.values())
    filled = {type: [*values, *[None] * (longest - len(values) + 1)] for type, (_, values, _) in TYPES.items()}
    columns = {}
    for at, (type, values) in enumerate(filled.items()):
        form = TYPES[type][0]
        plain = values if isinstance(type, Decimal) or type not in _WHOLE else pyarrow.array(values, _WHOLE[type])
        columns[f"{at}"] = plain.cast(form) if isinstance(plain, pyarrow.Array) else pyarrow.array(plain, form)
    return filled, pyarrow.table({"row": range(longest + 1), **columns})


_WHOLE: dict[Type, pyarrow.DataType] = {
    DATE: pyarrow.int32(),
    TIMESTAMP: pyarrow.int64(),
    TIMESTAMPTZ: pyarrow.int64(),
}


@pytest.mark.parametrize(
    ("ansi", "zone"),
    long_but([("true", "America/New_York"), ("false", "Asia/Kolkata")], [("false", "Asia/Kolkata")]),
)
def test_transforms_are_those_of_the_local_engine(
    spark: SparkSession, setting: Setting, tmp_path: Any, ansi: str, zone: str
) -> None:
    values, table = rows(spark)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")  # Spark's Arrow would lose the ends of time
    terms = {
        f"{at}.{text}": (type, parse_transform(text), f"{at}")
        for at, type in enumerate(values)
        for text in TYPES[type][2]
    }
    with setting({"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": zone}):
        frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
        moments = {f"{at}.micros": micros(F.col(f"{at}"), type) for at, type in enumerate(values) if type in _MOMENTS}
        made = with_terms(frame, [Term(name, how, type, F.col(at)) for name, (type, how, at) in terms.items()])
        made = made.withColumns(moments).drop(*(f"{at}" for at in range(len(values)))).toArrow().sort_by("row")
    for name, (type, transform, _) in terms.items():
        assert made.column(name).to_pylist() == [transform.apply(type, one) for one in values[type]], name
    for at, type in enumerate(values):
        if type in _MOMENTS:
            assert made.column(f"{at}.micros").to_pylist() == values[type]


_MOMENTS = (TIMESTAMP, TIMESTAMPTZ)


def test_a_value_that_can_not_be_truncated_stops_the_job(spark: SparkSession, setting: Setting) -> None:
    frame = spark.range(1).selectExpr("cast(-9223372036854775808 as bigint) as a")
    term = Term("t", Transform("truncate", 1000), LONG, F.col("a"))
    for ansi in ("true", "false"):
        with setting({"spark.sql.ansi.enabled": ansi}), pytest.raises(PySparkException, match=TOO_NEAR):
            with_terms(frame, [term]).collect()


def test_a_decimal_that_spark_would_round_is_refused(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr("cast(id as decimal(38, 7)) as a")
    with pytest.raises(Invalid, match=r"would round.*decimal\(38, 7\).*toArrow"):
        with_terms(frame, [Term("t", Transform("truncate", 3), Decimal(38, 7), F.col("a"))])
