"""Buckets by Spark, against mmh3 and PyIceberg: many values of all types in one job."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal as Number
from typing import Any

import mmh3
import pyarrow
import pytest
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import BinaryType, DecimalType, LongType, StringType
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakebed.spark.write.transforms import Term, with_terms
from lakebed.table.partition.transforms import Transform
from lakebed.table.types.types import BINARY, LONG, STRING, Decimal, Type
from lakebed.table.types.values import encode_bound, scaled

Setting = Callable[[dict[str, str]], AbstractContextManager[None]]

MOST = 2**31 - 1  # as many buckets as there can be show the whole hash
LETTERS = "aZ\0é日\U0001f600"
ROWS = 1500


def of_all_lengths(make: Callable[[random.Random, int], Any]) -> list[Any]:
    chance = random.Random(7)
    return [make(chance, at % 23) for at in range(ROWS - 1)]


def digits(precision: int) -> list[int]:
    """Whole numbers around every border between lengths in bytes, and others of all lengths."""
    chance = random.Random(precision)
    borders = [sign * (2**bit + more) for bit in range(128) for more in (-1, 0, 1) for sign in (1, -1)]
    others = [chance.choice((1, -1)) * chance.randrange(10 ** chance.randint(1, precision)) for _ in range(ROWS)]
    ends = [10**precision - 1, 1 - 10**precision]
    return [one for one in (*ends, *borders, *others) if abs(one) < 10**precision][: ROWS - 1]


DECIMALS = [Decimal(*one) for one in ((9, 2), (18, 18), (19, 0), (28, 10), (38, 6), (38, 38))]
COLUMNS: dict[Type, list[Any]] = {
    LONG: [-(2**63), 2**63 - 1, 0, -1, *of_all_lengths(lambda chance, _: chance.randrange(-(2**63), 2**63))][
        : ROWS - 1
    ],
    STRING: of_all_lengths(lambda chance, length: "".join(chance.choices(LETTERS, k=length))),
    BINARY: of_all_lengths(lambda chance, length: chance.randbytes(length)),
    **{type: [scaled(one, type.scale) for one in digits(type.precision)] for type in DECIMALS},
}
ICEBERG = {LONG: LongType(), STRING: StringType(), BINARY: BinaryType()}


def arrow(type: Type, values: list[Any]) -> pyarrow.Array:
    if isinstance(type, Decimal):
        return pyarrow.array([*values, None], pyarrow.decimal128(type.precision, type.scale))
    return pyarrow.array([*values, None])


@pytest.mark.long  # test_transforms has the most usual ones
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_buckets_are_those_of_iceberg(spark: SparkSession, setting: Setting, ansi: str) -> None:
    values = {type: [*found, *[found[0]] * (ROWS - 1 - len(found))] for type, found in COLUMNS.items()}
    table = pyarrow.table({f"{at}": arrow(type, found) for at, (type, found) in enumerate(values.items())})
    bucket = Transform("bucket", MOST)
    terms = [Term(f"bucket.{at}", bucket, type, F.col(f"{at}")) for at, type in enumerate(values)]
    with setting({"spark.sql.ansi.enabled": ansi}):
        # Written first: rows of the driver's own would be hashed when the query is planned.
        made = with_terms(spark.createDataFrame(table).repartition(2, F.rand()), terms).toArrow()
    assert made.column_names == [*table.column_names, *(one.name for one in terms)]
    for at, type in enumerate(values):
        pairs = list(zip(made.column(f"{at}").to_pylist(), made.column(f"bucket.{at}").to_pylist(), strict=True))
        assert (None, None) in pairs
        iceberg = BucketTransform(MOST).transform(_iceberg(type))
        for value, found in pairs:
            if value is not None:
                assert found == (mmh3.hash(encode_bound(type, value)) & MOST) % MOST, (type, value)
                assert found == iceberg(value), (type, value)


def _iceberg(type: Type) -> Any:
    return DecimalType(type.precision, type.scale) if isinstance(type, Decimal) else ICEBERG[type]


def test_the_values_are_of_all_lengths() -> None:
    """Otherwise the test above would show less than it seems to."""
    for type in (STRING, BINARY, DECIMALS[-1], DECIMALS[0]):
        lengths = {len(encode_bound(type, value)) for value in COLUMNS[type]}
        assert lengths >= (set(range(1, 5)) if isinstance(type, Decimal) else set(range(23)))
    assert {len(encode_bound(DECIMALS[-1], value)) for value in COLUMNS[DECIMALS[-1]]} == set(range(1, 17))
    assert Number(-128).scaleb(-2) in COLUMNS[DECIMALS[0]]
