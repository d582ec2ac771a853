from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.fit import NULL_FOUND, fit
from lakebed.spark.types import FIELD_ID
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT, LONG, Field, List, Map, Struct


def table(*fields: Field) -> Schema:
    return with_ids(Schema(fields), 1, 1)


def row(frame: DataFrame) -> dict[str, object]:
    (only,) = frame.collect()
    return only.asDict(recursive=True)


def test_columns_are_found_by_name_without_case_in_any_order(spark: SparkSession) -> None:
    frame = spark.sql("select 2 as B, 1L as `ä.C`")
    fitted = fit(frame, table(Field("Ä.c", "long"), Field("b", "int")))
    assert row(fitted) == {"c_1": 1, "b": 2}  # named as in files
    assert fitted.columns == ["c_1", "b"]
    assert [one.metadata for one in fitted.schema.fields] == [{FIELD_ID: 1}, {FIELD_ID: 2}]


def test_an_optional_column_that_is_missing_is_null(spark: SparkSession) -> None:
    fitted = fit(spark.sql("select 1 as a"), table(Field("a", "int"), Field("b", "map<string, struct<x: int>>")))
    assert row(fitted) == {"a": 1, "b": None}


def test_types_get_wider(spark: SparkSession) -> None:
    frame = spark.sql("select 1Y as a, 2S as b, 3 as c, cast(0.5 as float) as d, 1.25BD as e, null as f")
    names = {"a": "int", "b": "long", "c": "long", "d": "double", "e": "decimal(20, 5)", "f": "date"}
    expected = {"a": 1, "b": 2, "c": 3, "d": 0.5, "e": Decimal("1.25"), "f": None}
    fitted = fit(frame, table(*(Field(*pair) for pair in names.items())))
    assert row(fitted) == expected
    assert [kind for _, kind in fitted.dtypes] == ["int", "bigint", "bigint", "double", "decimal(20,5)", "date"]


def test_fields_of_structs_are_found_by_name_too_however_deep(spark: SparkSession) -> None:
    inner = Struct((Field("x", LONG), Field("y", INT), Field("z", INT)))
    schema = table(Field("s", inner), Field("l", List(inner)), Field("m", Map(INT, inner)))
    struct = "named_struct('Y', 2, 'x', 1)"
    frame = spark.sql(f"select map(7, {struct}) m, array({struct}, null) l, {struct} s")
    expected = {"x": 1, "y": 2, "z": None}
    assert row(fit(frame, schema)) == {"s": expected, "l": [expected, None], "m": {7: expected}}


def test_a_null_struct_stays_one(spark: SparkSession) -> None:
    frame = spark.sql("select if(id = 0, named_struct('b', 1, 'a', 2), null) s from range(2) order by id")
    fitted = fit(frame, table(Field("s", Struct((Field("a", INT), Field("b", INT))))))
    assert [one.s for one in fitted.collect()] == [Row(a=2, b=1), None]


def test_everything_that_does_not_fit_is_said_at_once(spark: SparkSession) -> None:
    schema = table(
        Field("id", "long", required=True),
        Field("small", "int"),
        Field("price", "decimal(10, 2)"),
        Field("day", "timestamp"),
        Field("name", "string"),
        Field("s", Struct((Field("a", INT), Field("b", INT, required=True)))),
        Field("l", "list<int>"),
        Field("gone", "int", required=True),
    )
    frame = spark.sql("""
        select null as id, 1L as small, 1.123BD as price, current_date() as day, 1 as name,
               named_struct('a', 'x', 'c', 1) as s, array('x') as l, 1 as more, 2 as MORE
    """)
    with pytest.raises(Invalid) as caught:
        fit(frame, schema)
    assert str(caught.value.found).split("; ") == [
        "more comes twice",
        "id is void instead of long",
        "small is bigint instead of int",
        "price is decimal(4,3) instead of decimal(10, 2)",
        "day is date instead of timestamp",
        "name is int instead of string",
        "s.a is string instead of int",
        "s.b is required, and missing",
        "s.c is not a column of the table",
        "l.element is string instead of int",
        "gone is required, and missing",
        "MORE is not a column of the table",
    ]


@pytest.mark.parametrize(
    ("wide", "table_type"),
    [
        ("1L", "double"),
        ("1", "double"),
        ("'1'", "int"),
        ("1.5D", "float"),
        ("1.5BD", "double"),
        ("timestamp'2020-01-01'", "timestamp"),
        ("timestamp_ntz'2020-01-01'", "timestamptz"),
        ("date'2020-01-01'", "timestamptz"),
        ("'x' collate UTF8_LCASE", "string"),
        ("array(1)", "int"),
        ("struct(1)", "list<int>"),
        ("interval 1 day", "long"),
    ],
)
def test_no_value_is_ever_changed_to_fit(spark: SparkSession, wide: str, table_type: str) -> None:
    with pytest.raises(Invalid, match=r"a is .* instead of"):
        fit(spark.sql(f"select {wide} as a"), table(Field("a", table_type)))


REQUIRED = [
    ("a", Field("a", INT, required=True), "if(id = 0, 1, null)"),
    ("a", Field("a", Struct((Field("x", INT),)), required=True), "if(id = 0, struct(1 as x), null)"),
    ("a.x", Field("a", Struct((Field("x", INT, required=True),))), "struct(if(id = 0, 1, null) as x)"),
    ("a.element", Field("a", List(INT, element_required=True)), "array(1, if(id = 0, 1, null))"),
    ("a.value", Field("a", Map(INT, INT, value_required=True)), "map(1, if(id = 0, 1, null))"),
    (
        "a.element.x",
        Field("a", List(Struct((Field("x", INT, required=True),)))),
        "array(struct(if(id = 0, 1, null) as x))",
    ),
]


@pytest.mark.parametrize(("place", "field", "expression"), REQUIRED)
def test_a_null_where_none_may_be_stops_the_job(spark: SparkSession, place: str, field: Field, expression: str) -> None:
    frame = spark.range(2).select(F.expr(expression).alias("a"))
    fitted = fit(frame.where("id = 0"), table(field))
    assert len(fitted.collect()) == 1
    with pytest.raises(PySparkException, match=f"{NULL_FOUND}«{place}»"):
        fit(frame, table(field)).collect()


def test_a_null_struct_or_list_hides_no_required_field(spark: SparkSession) -> None:
    schema = table(Field("s", Struct((Field("x", INT, required=True),))), Field("l", List(INT, element_required=True)))
    frame = spark.sql(
        "select if(id = 0, struct(int(id) as x), null) s, if(id = 0, array(int(id)), null) l from range(2)"
    )
    assert sorted(fit(frame, schema).collect(), key=str) == [Row(s=None, l=None), Row(s=Row(x=0), l=[0])]
