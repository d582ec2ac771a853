"""Types of columns as Arrow has them, both ways."""

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.types import FIELD_ID, arrow_schema, file_schema, schema_of
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import NAMES, Decimal, Field, List, Map, Struct

primitives = st.sampled_from(list(NAMES.values())) | st.builds(Decimal, st.integers(19, 38), st.integers(0, 19))


def wrapped(inner: st.SearchStrategy) -> st.SearchStrategy:
    fields = st.lists(inner, min_size=1, max_size=3).map(
        lambda types: tuple(Field(f"f{n}", one, required=n % 2 == 0) for n, one in enumerate(types))
    )
    return st.builds(List, inner, st.booleans()) | st.builds(Map, primitives, inner, st.booleans()) | fields.map(Struct)


columns = st.builds(
    Field, st.just(""), st.recursive(primitives, wrapped, max_leaves=5), st.booleans(), st.sampled_from(["", "a — b"])
)


@settings(deadline=None)
@given(st.lists(columns, max_size=5))
def test_a_schema_survives_the_way_to_arrow_and_back(found: list[Field]) -> None:
    schema = Schema([Field(f"c{n}", one.type, one.required, one.comment) for n, one in enumerate(found)])
    assert schema_of(arrow_schema(schema)) == schema


@pytest.mark.parametrize(
    ("arrow", "name"),
    [
        (pyarrow.bool_(), "boolean"),
        (pyarrow.int8(), "int"),
        (pyarrow.int16(), "int"),
        (pyarrow.uint8(), "int"),
        (pyarrow.uint16(), "int"),
        (pyarrow.uint32(), "long"),
        (pyarrow.int64(), "long"),
        (pyarrow.float16(), "float"),
        (pyarrow.float64(), "double"),
        (pyarrow.large_string(), "string"),
        (pyarrow.string_view(), "string"),
        (pyarrow.large_binary(), "binary"),
        (pyarrow.binary_view(), "binary"),
        (pyarrow.dictionary(pyarrow.int8(), pyarrow.large_string()), "string"),
        (pyarrow.date32(), "date"),
        (pyarrow.date64(), "date"),
        (pyarrow.timestamp("s"), "timestamp"),
        (pyarrow.timestamp("ms", tz="Europe/Berlin"), "timestamptz"),
        (pyarrow.decimal32(5, 2), "decimal(5, 2)"),
        (pyarrow.decimal64(12, 0), "decimal(12, 0)"),
        (pyarrow.decimal256(38, 38), "decimal(38, 38)"),
        (pyarrow.list_(pyarrow.int8()), "list<int>"),
        (pyarrow.large_list(pyarrow.int8()), "list<int>"),
        (pyarrow.list_(pyarrow.int8(), 3), "list<int>"),
        (pyarrow.list_view(pyarrow.int8()), "list<int>"),
        (pyarrow.large_list_view(pyarrow.int8()), "list<int>"),
        (pyarrow.map_(pyarrow.string(), pyarrow.float32()), "map<string, float>"),
        (pyarrow.time32("s"), "time"),
        (pyarrow.time32("ms"), "time"),
        (pyarrow.time64("us"), "time"),
        (pyarrow.timestamp("ns"), "timestamp_ns"),
        (pyarrow.timestamp("ns", "Asia/Tokyo"), "timestamptz_ns"),
        (pyarrow.uuid(), "uuid"),
        (pyarrow.binary(16), "fixed(16)"),
        (pyarrow.list_(pyarrow.uuid()), "list<uuid>"),
        (pyarrow.map_(pyarrow.uuid(), pyarrow.timestamp("ns")), "map<uuid, timestamp_ns>"),
        (pyarrow.dictionary(pyarrow.int8(), pyarrow.binary(3)), "fixed(3)"),
    ],
)
def test_what_users_have_gets_the_type_that_holds_it(arrow: pyarrow.DataType, name: str) -> None:
    assert str(schema_of(pyarrow.schema([("a", arrow)])).field("a").type) == name


@pytest.mark.parametrize(
    ("arrow", "advice"),
    [
        (pyarrow.uint64(), "int64"),
        (pyarrow.time64("ns"), "microseconds"),
        (pyarrow.duration("s"), "number"),
        (pyarrow.month_day_nano_interval(), "another type"),
        (pyarrow.bool8(), "another type"),
        (pyarrow.binary(0), "another type"),
        (pyarrow.decimal256(39, 2), "another type"),
        (pyarrow.decimal128(10, -2), "another type"),
        (pyarrow.null(), "Give the column a type"),
        (pyarrow.struct([]), "Give it a field"),
    ],
)
def test_what_no_table_can_hold_is_refused_by_path_and_name(arrow: pyarrow.DataType, advice: str) -> None:
    nested = pyarrow.struct([pyarrow.field("b", pyarrow.list_(arrow))])
    with pytest.raises(Invalid) as caught:
        schema_of(pyarrow.schema([("a", nested)]))
    assert caught.value.subject == "a.b.element"
    assert caught.value.found == str(arrow)
    assert advice in caught.value.advice


def test_a_column_that_may_not_be_null_is_required() -> None:
    inner = pyarrow.struct([pyarrow.field("b", pyarrow.int32(), nullable=False)])
    a = pyarrow.field("a", pyarrow.list_(pyarrow.field("item", inner, nullable=False)), nullable=False)
    field = schema_of(pyarrow.schema([a])).field("a")
    assert field == Field("a", List(Struct((Field("b", "int", True),)), element_required=True), True)


def test_files_have_physical_names_and_ids_on_every_level() -> None:
    schema = with_ids(Schema({"a": "struct<b: int>", "m": "map<string, list<date>>"}), 0, 1)
    a, m = file_schema(schema)
    assert [a.metadata, a.type[0].metadata] == [{FIELD_ID: b"1"}, {FIELD_ID: b"3"}]
    inner = [m, m.type.key_field, m.type.item_field, m.type.item_type.value_field]
    assert [one.metadata[FIELD_ID] for one in inner] == [b"2", b"4", b"5", b"6"]
    renamed = Schema([Field("new", Struct((Field("c", "int", physical_name="b-1"),)), physical_name="a-1")])
    assert file_schema(renamed).names == ["a-1"]
    assert file_schema(renamed).field(0).type.names == ["b-1"]
    assert arrow_schema(renamed).field(0).type.names == ["c"]
