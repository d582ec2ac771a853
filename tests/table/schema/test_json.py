"""A schema's body: Iceberg's JSON with our key, the same bytes for the same schema, and nothing guessed from others."""

import json
from contextlib import suppress
from decimal import Decimal as Number
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg import types as iceberg
from pyiceberg.schema import Schema as IcebergSchema

from lakebed.errors import Corrupt, Invalid
from lakebed.table.schema.json import schema_from_json, schema_to_json
from lakebed.table.schema.schema import Schema, with_ids, with_key
from lakebed.table.types.types import NAMES, Decimal, Field, Fixed, List, Map, Struct
from tests.support.raw_names import with_raw_names

GOLDEN = (Path(__file__).parents[2] / "golden/schema.json").read_bytes().rstrip(b"\n")

NAMED_GOLDEN = (Path(__file__).parents[2] / "golden/schema_names.json").read_bytes().rstrip(b"\n")

LATER_GOLDEN = (Path(__file__).parents[2] / "golden/schema_types.json").read_bytes().rstrip(b"\n")

FIRST_NAMES = ["boolean", "int", "long", "float", "double", "date", "timestamp", "timestamptz", "string", "binary"]
LATER = Schema(
    [
        *(Field(f"a {name}", name) for name in ("time", "uuid", "fixed(16)", "timestamp_ns", "timestamptz_ns")),
        Field("nested", "map<uuid, list<struct<a: fixed(3), b: time>>>"),
    ]
)
EVERYTHING = Schema(
    [
        Field("id", "long", required=True, comment="the order's number"),
        Field("Größe", "decimal(10, 2)"),
        *(Field(f"a {name}", name) for name in FIRST_NAMES),
        Field("items", List(Struct((Field("sku", "string", required=True), Field("a.b", "int"))), True)),
        Field("tags", Map(NAMES["string"], List(NAMES["int"]), True)),
    ]
)

names = st.sampled_from(["a", "b c", "d.e", "é", '"', "`"])
ids = st.integers(0, 2**31 - 1)
simple = st.sampled_from([*NAMES.values(), Decimal(1, 0), Decimal(38, 38), Fixed(1), Fixed(16)])


def fields(inner):
    one = st.builds(Field, names, inner, st.booleans(), st.text(max_size=5), id=ids, physical_name=st.text(max_size=5))
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda one: one.name).map(tuple)


types = st.recursive(
    simple,
    lambda inner: (
        st.builds(List, inner, st.booleans(), ids)
        | st.builds(Map, inner, inner, st.booleans(), ids, ids)
        | fields(inner).map(Struct)
    ),
    max_leaves=6,
)
schemas = st.builds(Schema, fields(types), ids)


def body(**changes):
    field = {"id": 1, "name": "a", "physical-name": "a", "required": False, "type": "long"}
    return {"type": "struct", "schema-id": 1, "fields": [{**field, **changes}]}


def dumped(value):
    return json.dumps(value).encode()


def same_type(ours, theirs):
    match ours:
        case Struct(ours_fields):
            return isinstance(theirs, iceberg.StructType) and same_fields(ours_fields, theirs.fields)
        case List():
            known = (ours.element_id, ours.element_required) == (theirs.element_id, theirs.element_required)
            return known and same_type(ours.element, theirs.element_type)
        case Map():
            known = (ours.key_id, ours.value_id, ours.value_required)
            parts = same_type(ours.key, theirs.key_type) and same_type(ours.value, theirs.value_type)
            return parts and known == (theirs.key_id, theirs.value_id, theirs.value_required)
        case _:
            return str(ours) == str(theirs).replace("fixed[", "fixed(").replace("]", ")")


def same_fields(ours, theirs):
    return len(ours) == len(theirs) and all(
        (one.id, one.name, one.required, one.comment) == (other.field_id, other.name, other.required, other.doc or "")
        and same_type(one.type, other.field_type)
        for one, other in zip(ours, theirs, strict=True)
    )


def test_the_golden_bytes_of_a_schema():
    assert schema_to_json(with_ids(EVERYTHING, 1, 1)) == NAMED_GOLDEN
    assert schema_from_json(NAMED_GOLDEN) == with_ids(EVERYTHING, 1, 1)


def test_the_golden_bytes_of_schemas_with_raw_names_in_files():
    for schema, golden in ((with_ids(EVERYTHING, 1, 1), GOLDEN), (with_ids(LATER, 2, 1), LATER_GOLDEN)):
        assert schema_to_json(with_raw_names(schema)) == golden
        assert schema_from_json(golden) == with_raw_names(schema)


@given(schemas)
def test_a_schema_comes_back_and_has_one_form(schema):
    data = schema_to_json(schema)
    assert schema_from_json(data) == schema
    assert schema_to_json(schema_from_json(json.dumps(json.loads(data), indent=2).encode())) == data


@settings(deadline=None)
@given(schemas)
def test_iceberg_reads_the_same_schema(schema):
    given_out = with_ids(schema, schema.id, 1)
    read = IcebergSchema.model_validate_json(schema_to_json(given_out))
    assert read.schema_id == schema.id
    assert same_fields(given_out.fields, read.fields)


EVOLVED = with_key(
    with_ids(
        Schema(
            [
                Field("id", "long", write_default=7),
                Field("at", "timestamptz", initial_default=-1, write_default=1_700_000_000_000_001),
                Field("s", Struct((Field("raw", "binary", initial_default=b"\x00\xff"),))),
                Field("price", "decimal(9, 2)", write_default=Number("1.5"), widened_from=Decimal(5, 2)),
            ]
        ),
        3,
        1,
    ),
    ["id"],
)


def test_defaults_keys_and_older_types_are_kept():
    data = schema_to_json(EVOLVED)
    assert schema_from_json(data) == EVOLVED
    assert data.decode() == (
        '{"fields":[{"id":1,"name":"id","physical-name":"id","required":true,"type":"long","write-default":7},'
        '{"id":2,"initial-default":"1969-12-31T23:59:59.999999+00:00","name":"at","physical-name":"at","required":false,'
        '"type":"timestamptz","write-default":"2023-11-14T22:13:20.000001+00:00"},'
        '{"id":3,"name":"s","physical-name":"s","required":false,"type":{"fields":[{"id":5,"initial-default":"00ff",'
        '"name":"raw","physical-name":"raw","required":false,"type":"binary"}],"type":"struct"}},'
        '{"id":4,"name":"price","physical-name":"price","required":false,"type":"decimal(9, 2)",'
        '"widened-from":"decimal(5, 2)","write-default":"1.50"}],'
        '"identifier-field-ids":[1],"schema-id":3,"type":"struct"}'
    )


def test_iceberg_reads_keys_and_defaults():
    read = IcebergSchema.model_validate_json(schema_to_json(EVOLVED))
    assert read.identifier_field_ids == [1]
    assert read.find_field("id").write_default == 7


def test_text_is_not_escaped_and_keys_are_sorted_without_spaces():
    data = schema_to_json(Schema([Field("é", "long", id=1, physical_name="é")], 2))
    assert data.decode() == (
        '{"fields":[{"id":1,"name":"é","physical-name":"é","required":false,"type":"long"}],"schema-id":2,"type":"struct"}'
    )


def test_text_that_has_no_bytes_is_refused():
    with pytest.raises(Invalid, match="that UTF-8 can't encode"):
        schema_to_json(Schema([Field("a", "long", comment="\ud800")]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        GOLDEN[:-1],
        dumped({**body(), "type": "list"}),
        dumped({"type": "struct", "fields": []}),
        dumped({**body(), "schema-id": "1"}),
        dumped({**body(), "schema-id": True}),
        dumped({**body(), "fields": {}}),
        dumped({**body(), "fields": ["a"]}),
        dumped({**body(), "fields": body()["fields"] * 2}),
        dumped(body(id=None)),
        dumped(body(id=1.0)),
        dumped(body(name=5)),
        dumped(body(name="")),
        dumped(body(required="false")),
        dumped(body(doc=5)),
        dumped(body(type="lnog")),
        dumped(body(type="list<int>")),
        dumped(body(type="decimal(39, 1)")),
        dumped(body(type=5)),
        dumped(body(**{"initial-default": "5"})),
        dumped(body(**{"write-default": True})),
        dumped(body(**{"write-default": 2**63})),
        dumped(body(type={"type": "struct", "fields": body()["fields"]}, **{"write-default": {}})),
        dumped(body(**{"widened-from": "lnog"})),
        dumped(body(**{"widened-from": 5})),
        dumped({**body(), "identifier-field-ids": 1}),
        dumped({**body(), "identifier-field-ids": [1]}),
        dumped({**body(required=True), "identifier-field-ids": [2]}),
        dumped({**body(required=True), "identifier-field-ids": [True]}),
        dumped({**body(required=True), "identifier-field-ids": ["1"]}),
        dumped(body(type={})),
        dumped(body(type={"type": "set"})),
        dumped(body(type={"type": "struct", "fields": []})),
        dumped(body(type={"type": "list", "element": "int", "element-id": 2})),
        dumped(body(type={"type": "map", "key": "int", "key-id": 2, "value": "int", "value-id": 3})),
    ],
)
def test_a_damaged_body_is_corrupt(data):
    with pytest.raises(Corrupt):
        schema_from_json(data)


@pytest.mark.parametrize("key", ["id", "name", "physical-name", "required", "type"])
def test_a_field_without_one_of_its_keys_is_corrupt(key):
    broken = body()
    del broken["fields"][0][key]
    with pytest.raises(Corrupt, match=f"a field in a schema's body is damaged .expected {key} as"):
        schema_from_json(dumped(broken))


@pytest.mark.parametrize("newer", [{**body(), "default-order": [1, {"ö": None}]}, body(check="a > 5")])
def test_an_unknown_key_is_kept_and_written_again(newer):
    """KV-17: also by the schemas that evolve from it."""
    read = schema_from_json(dumped(newer))
    assert json.loads(schema_to_json(read)) == newer
    assert schema_to_json(read) == schema_to_json(schema_from_json(schema_to_json(read)))


@pytest.mark.parametrize("newer", [{**body(), "lakebed.order": 1}, body(**{"lakebed.check": "a > 5"})])
def test_a_key_that_has_to_be_known_is_said_and_never_dropped(newer):
    with pytest.raises(Invalid, match=r"has an unknown key .*Upgrade Lakebed\."):
        schema_from_json(dumped(newer))


@given(st.data())
def test_any_change_of_a_byte_is_another_schema_or_an_error_of_ours(data):
    place = data.draw(st.integers(0, len(GOLDEN) - 1))
    changed = GOLDEN[:place] + data.draw(st.binary(max_size=2)) + GOLDEN[place + 1 :]
    with suppress(Corrupt, Invalid):
        assert isinstance(schema_from_json(changed), Schema)
