from collections.abc import Callable

import pytest
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.types import (
    FIELD_ID,
    check_types,
    file_schema,
    readable_schema,
    result_schema,
    scan_schema,
    schema_of,
    spark_schema,
)
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import (
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Field,
    List,
    Map,
    Struct,
    parse_type,
)

EVERY_TYPE = Schema(
    [
        *(Field(f"{name}_column", name) for name in ("boolean", "int", "long", "float", "double", "date", "binary")),
        Field("instant", "timestamptz", required=True),
        Field("local time", "timestamp"),
        Field("Näme", "string", comment="what it is called"),
        Field("price", "decimal(38, 10)", required=True),
        Field("tags", List(STRING, element_required=True)),
        Field("counts", Map(STRING, INT, value_required=True)),
        Field("place", Struct((Field("x.y", LONG, required=True, comment="deep"), Field("z", List(List(INT)))))),
    ]
)


def test_a_schema_goes_to_spark_and_comes_back() -> None:
    assert schema_of(spark_schema(EVERY_TYPE)) == EVERY_TYPE


def test_instants_and_local_times_are_told_apart() -> None:
    struct = spark_schema(EVERY_TYPE)
    assert isinstance(struct["instant"].dataType, spark.TimestampType)
    assert isinstance(struct["local time"].dataType, spark.TimestampNTZType)
    assert [schema_of(struct).field(name).type for name in ("instant", "local time")] == [TIMESTAMPTZ, TIMESTAMP]


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        (spark.ByteType(), "int"),
        (spark.ShortType(), "int"),
        (spark.CharType(3), "string"),
        (spark.VarcharType(3), "string"),
        (spark.DecimalType(10, 0), "decimal(10, 0)"),
        (spark.ArrayType(spark.ByteType()), "list<int>"),
    ],
    ids=str,
)
def test_narrow_types_are_held_by_wider_ones(type: spark.DataType, expected: str) -> None:
    struct = spark.StructType([spark.StructField("x", type)])
    assert schema_of(struct).field("x").type == parse_type(expected)


@pytest.mark.parametrize(
    "type",
    [
        spark.NullType(),
        spark.DayTimeIntervalType(),
        spark.YearMonthIntervalType(),
        spark.VariantType(),
        spark.StringType("UTF8_LCASE"),
    ],
    ids=str,
)
def test_a_type_that_no_table_has_is_refused_by_its_path(type: spark.DataType) -> None:
    inner = spark.StructType([spark.StructField("b", spark.ArrayType(type))])
    with pytest.raises(Invalid, match=r"^a\.b\.element: .*found ") as caught:
        schema_of(spark.StructType([spark.StructField("a", inner)]))
    assert type.simpleString() in str(caught.value)


def test_two_columns_that_differ_in_case_alone_are_refused() -> None:
    with pytest.raises(Invalid, match="two columns"):
        schema_of(spark.StructType([spark.StructField(name, spark.LongType()) for name in ("a", "A")]))


def test_files_have_physical_names_and_ids_at_every_level() -> None:
    inner = Struct((Field("new", INT, id=3, physical_name="old"),))
    schema = Schema([Field("column", List(inner, element_id=2), id=1, physical_name="column_1", required=True)])
    metadata = {"column_1": {FIELD_ID: 1}, "old": {FIELD_ID: 3}}
    for struct, expected in ((file_schema(schema), metadata), (scan_schema(schema), {"column_1": {}, "old": {}})):
        outside = struct.fields[0]
        inside = outside.dataType.elementType.fields[0]
        assert {one.name: one.metadata for one in (outside, inside)} == expected
        assert outside.nullable


def test_what_is_read_is_nullable_everywhere() -> None:
    assert schema_of(result_schema(with_ids(EVERY_TYPE, 1, 1))) == schema_of(result_schema(EVERY_TYPE))
    text = result_schema(EVERY_TYPE).json()
    assert "false" not in text and "parquet.field.id" not in text


UNKNOWN = ["time", "uuid", "timestamp_ns", "timestamptz_ns"]


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("make", [spark_schema, result_schema, file_schema])
def test_what_spark_has_no_type_for_is_refused_by_its_path(
    name: str, make: Callable[[Schema], spark.StructType]
) -> None:
    for type, path in ((name, "a"), (f"list<{name}>", "a.element"), (f"map<int, struct<b: {name}>>", "a.value.b")):
        with pytest.raises(Invalid, match="Spark has no type for a column") as caught:
            make(with_ids(Schema({"id": "long", "a": type}), 1, 1))
        assert (caught.value.subject, caught.value.found) == (path, name)
        assert "scan(…)" in caught.value.advice or "frame.toArrow()" in caught.value.advice


def test_fixed_bytes_are_read_as_binary_and_not_written() -> None:
    schema = with_ids(Schema({"a": "fixed(3)", "l": "list<fixed(2)>"}), 1, 1)
    assert [one.dataType for one in result_schema(schema)] == [spark.BinaryType(), spark.ArrayType(spark.BinaryType())]
    with pytest.raises(Invalid, match=r"a: Spark has no type for a column .found fixed.3.*frame\.toArrow"):
        file_schema(schema)


def test_the_other_columns_are_readable() -> None:
    schema = with_ids(Schema({"id": "long", "u": "uuid", "l": "list<time>", "f": "fixed(2)"}), 1, 1)
    assert [one.name for one in readable_schema(schema).fields] == ["id", "f"]
    check_types(readable_schema(schema).fields)
