"""Schemas: columns by name, and ids as Iceberg gives them."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.schema import assign_fresh_schema_ids

from lakebed.errors import Invalid
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema, id_count, physical_names, with_ids, with_key
from lakebed.table.types.types import INT, LONG, STRING, Field, List, Map, Struct, parse_type

simple = st.sampled_from([INT, LONG, STRING])


def with_parts(inner):
    structs = st.lists(inner, min_size=1, max_size=3).map(lambda types: Struct(tuple(map(Field, "abc", types))))
    return st.builds(List, inner, st.booleans()) | st.builds(Map, inner, inner, st.booleans()) | structs


types = st.recursive(simple, with_parts, max_leaves=10)
schemas = st.lists(types, max_size=5).map(lambda types: Schema(tuple(map(Field, "vwxyz", types))))


def ids(schema):
    """All ids of a schema, by the path of names to each."""
    return dict(walk(schema.fields, ()))


def walk(fields, path):
    for one in fields:
        yield (*path, one.name), one.id
        yield from walk_type(one.type, (*path, one.name))


def walk_type(type, path):
    match type:
        case Struct(fields):
            yield from walk(fields, path)
        case List():
            yield (*path, "element"), type.element_id
            yield from walk_type(type.element, (*path, "element"))
        case Map():
            yield (*path, "key"), type.key_id
            yield (*path, "value"), type.value_id
            yield from walk_type(type.key, (*path, "key"))
            yield from walk_type(type.value, (*path, "value"))


def test_a_schema_is_made_of_fields_or_of_names_and_types():
    made = Schema([Field("a", "long"), Field("b", "string")])
    assert made == Schema({"a": "long", "b": STRING}) == Schema(iter(made.fields))
    assert made.names == ("a", "b")
    assert hash(made) == hash(Schema({"a": "long", "b": "string"}))
    assert made != Schema(made.fields, 1)


def test_what_is_no_field_is_refused():
    with pytest.raises(Invalid, match=r"a schema is made of fields .expected lakebed\.Field, found str"):
        Schema(["a"])
    with pytest.raises(Invalid, match="this is not the name of a type"):
        Schema({"a": "lnog"})


@pytest.mark.parametrize("names", [("a", "a"), ("a", "A"), ("é", "É")])
def test_two_columns_of_one_name_are_refused(names):
    with pytest.raises(Invalid, match="two columns have the same name"):
        Schema([Field(name, INT) for name in names])


def test_columns_are_found_without_case():
    schema = Schema({"Straße": "int", "b": "long"})
    assert schema.field("STRASSE").name == "Straße"
    with pytest.raises(Invalid, match=r"'c': there is no such column .expected one of Straße, b"):
        schema.field("c")


def test_columns_are_selected_in_the_order_asked_for_and_once():
    schema = Schema({"a": "int", "b": "long", "c": "date"}, 7)
    selected = schema.select(["C", "a"])
    assert (selected.names, selected.id) == (("c", "a"), 7)
    for names in (["a", "a"], ["a", "A"], ["x"]):
        with pytest.raises(Invalid):
            schema.select(names)


def test_a_schema_prints_its_columns():
    schema = Schema([Field("a", "long", required=True), Field("b", "list<int>")])
    assert str(schema) == "schema\n  a: long not null\n  b: list<int>"


def test_a_new_schema_has_no_ids_and_a_tables_first_has_them_level_by_level():
    schema = Schema({"a": "int", "b": "struct<x: int, y: list<int>>", "c": "map<int, struct<z: int>>", "d": "int"})
    assert schema.highest_id == 0
    given_out = with_ids(schema, 1, 1)
    assert ids(given_out) == {
        ("a",): 1,
        ("b",): 2,
        ("c",): 3,
        ("d",): 4,
        ("b", "x"): 5,
        ("b", "y"): 6,
        ("b", "y", "element"): 7,
        ("c", "key"): 8,
        ("c", "value"): 9,
        ("c", "value", "z"): 10,
    }
    assert (given_out.id, given_out.highest_id, id_count(schema)) == (1, 10, 10)


def test_columns_are_called_in_the_files_as_they_are_at_birth():
    given_out = with_ids(Schema({"Ete": "struct<X: int>"}), 1, 1)
    [field] = given_out.fields
    assert (field.physical_name, field.type.fields[0].physical_name) == ("Ete", "X")


def test_names_in_files_are_plain_words_on_every_level():
    given_out = with_ids(Schema({"${user.name}": "list<struct<`a.b`: int>>", "a": "int"}), 1, 1)
    assert [way[-1].physical_name for way in given_out.ways.values()] == ["user_name_1", "element", "a_b_4", "a"]


@settings(deadline=None)
@given(schemas, st.integers(1, 1000))
def test_ids_are_those_that_iceberg_gives(schema, first):
    given_out = with_ids(schema, 1, first)
    # Iceberg reads no schema whose ids are equal, so it gets ours and gives its own anew.
    read = IcebergSchema.model_validate_json(schema_to_json(given_out))
    fresh = assign_fresh_schema_ids(read, count(first).__next__)
    assert fresh.as_struct() == read.as_struct()


@given(schemas, st.integers(1, 1000))
def test_ids_are_all_those_from_the_first_on(schema, first):
    given_out = with_ids(schema, 3, first)
    assert sorted(ids(given_out).values()) == list(range(first, first + id_count(schema)))
    assert given_out.highest_id == (first + id_count(schema) - 1 if schema.fields else 0)


def test_what_a_field_says_survives_its_id():
    field = Field("a", parse_type("long"), required=True, comment="says")
    [numbered] = with_ids(Schema([field]), 1, 5).fields
    assert (numbered.name, numbered.type, numbered.required, numbered.comment) == ("a", LONG, True, "says")


NESTED = with_ids(
    Schema(
        {"id": "long", "s": "struct<A: int, l: list<struct<x: int>>>", "m": "map<struct<k: int>, struct<v: list<int>>>"}
    ),
    1,
    1,
)


@pytest.mark.parametrize(
    "path", ["ID", "s", "s.a", "S.L.element", "s.l.element.x", "m.key.k", "m.value", "m.value.v.element"]
)
def test_a_field_is_found_by_its_path_and_by_its_id(path):
    field = NESTED.find(path)
    assert NESTED.field_by_id(field.id) == field
    assert NESTED.path_of(field.id).lower() == path.lower()
    assert NESTED.find(tuple(path.split("."))) == field
    assert NESTED.way_by_id(field.id)[-1] == field


@pytest.mark.parametrize("path", ["x", "s.x", "s.l.x", "m.element", "", (), ("s.a",), ("s", 1), "s.", "id.id"])
def test_a_path_to_nothing_is_refused(path):
    with pytest.raises(Invalid, match="there is no such column"):
        NESTED.find(path)
    with pytest.raises(Invalid, match="no column with this id"):
        NESTED.field_by_id(99)


def test_a_path_that_can_be_read_in_two_ways_is_refused():
    schema = with_ids(Schema([Field("a.b", INT), Field("a", Struct((Field("b", LONG),)))]), 1, 1)
    with pytest.raises(Invalid, match=r"'a\.b': two fields have this path\. Pass it as a tuple"):
        schema.find("a.b")
    assert (schema.find(("a.b",)).type, schema.find(("a", "b")).type) == (INT, LONG)
    assert with_ids(Schema([Field("a.b", INT)]), 1, 1).find("a.b").type == INT


def test_a_key_makes_its_columns_required_and_what_they_are_inside_of():
    keyed = with_key(NESTED, ["s.A", "id"])
    assert keyed.key == ("s.A", "id")
    assert keyed.identifier_ids == (NESTED.find("s.A").id, NESTED.find("id").id)
    assert [keyed.find(path).required for path in ("id", "s", "s.A", "s.l", "m")] == [True, True, True, False, False]
    assert with_key(NESTED, []) == NESTED
    assert keyed != Schema(keyed.fields, keyed.id)


def test_a_selection_has_no_key():
    keyed = with_key(NESTED, ["id"])
    assert keyed.select(["m"]).key == keyed.select(["id"]).key == ()


@pytest.mark.parametrize("names", [["s"], ["s.l"], ["s.l.element.x"], ["m.key.k"], ["id", "ID"], ["x"], "id"])
def test_what_can_not_be_a_key_is_refused(names):
    with pytest.raises(Invalid):
        with_key(NESTED, names)


def test_a_key_comes_after_the_ids():
    with pytest.raises(Invalid, match="expected with_ids before with_key"):
        with_key(Schema({"a": "int", "b": "int"}), ["a"])


@pytest.mark.parametrize("type", ["float", "double"])
def test_a_floating_number_is_no_key(type):
    with pytest.raises(Invalid, match=r"a: a column can't be in a primary key .*other than float and double, found"):
        with_key(with_ids(Schema({"a": type}), 1, 1), ["a"])


def test_a_key_of_what_may_be_null_or_is_not_there_is_refused():
    with pytest.raises(Invalid, match="found id, which may be null"):
        Schema(NESTED.fields, 1, [1])
    with pytest.raises(Invalid, match="a column of the primary key does not exist"):
        Schema(NESTED.fields, 1, [99])


def test_names_in_files_are_those_of_every_level():
    assert physical_names(NESTED) == {"id", "s", "a", "l", "element", "x", "m", "key", "k", "value", "v"}


def test_a_default_that_is_no_value_of_its_column_is_refused_on_every_level():
    with pytest.raises(Invalid, match="x: a default is not a value of the column's type"):
        Schema([Field("a", List(Struct((Field("x", INT, write_default="1"),))))])
