"""Plain values as constants of Spark: the same in every session, as columns and as SQL."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakebed.spark.literals import literal, literal_sql
from lakebed.spark.types import result_schema
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import parse_type
from tests.support.evolutions import DEFAULTS

MORE = {
    "long": (-(2**63), 2**63 - 1),
    "float": (1.401298464324817e-45, 3.4028234663852886e38),
    "double": (5e-324, 1.7976931348623157e308),
    "date": (-719162, 2932896),
    "timestamp": (-62135596800000000, 253402300799999999),
    "timestamptz": (-62135596800000000, 253402300799999999),
    "string": ("\\", "'", "\x00", "a" * 1000),
}
SESSIONS = [
    {},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.parser.escapedStringLiterals": "true"},
    {"spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.legacy.setopsPrecedence.enabled": "true"},
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("conf", SESSIONS, ids=str)
def test_a_value_is_the_same_as_a_column_and_as_sql_in_every_session(
    spark: SparkSession, setting: Callable[[dict[str, str]], AbstractContextManager[None]], conf: dict[str, str]
) -> None:
    cases = [(parse_type(type), value) for type, values in DEFAULTS.items() for value in (*values, *MORE.get(type, ()))]
    with setting(conf):
        columns = [
            one.alias(f"{form}{number}")
            for number, (type, value) in enumerate(cases)
            for form, one in (("column", literal(type, value)), ("sql", F.expr(literal_sql(type, value))))
        ]
        found = spark.range(1).select(*columns)
        [row] = found.select(
            *(F.hex(F.to_binary(F.col(name).cast("string"), F.lit("utf-8"))) for name in found.columns)
        ).collect()
        types = [one.dataType for one in found.schema.fields]
    for number, (type, value) in enumerate(cases):
        expected = result_schema(Schema({"a": type})).fields[0].dataType
        assert types[2 * number : 2 * number + 2] == [expected, expected], (type, value)
        assert row[2 * number] == row[2 * number + 1], (type, value)
