"""What is inside a type, as fields, and back."""

from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT, Field, List, Map, Struct, children_of, walk, with_children

SCHEMA = with_ids(
    Schema(
        [
            Field("a", List(Struct((Field("x", INT), Field("y", INT))), element_required=True)),
            Field("m", Map(INT, List(INT), value_required=True)),
            Field("n", INT),
        ]
    ),
    1,
    1,
)


def test_a_type_is_the_same_with_its_own_parts():
    for *_, field in walk(SCHEMA.fields):
        assert with_children(field.type, children_of(field.type)) == field.type


def test_parts_of_lists_and_maps_are_fields_with_their_ids():
    element, (key, value) = children_of(SCHEMA.field("a").type)[0], children_of(SCHEMA.field("m").type)
    assert (element.name, element.required, element.id) == ("element", True, SCHEMA.field("a").type.element_id)
    assert (key.name, key.required, value.name, value.required) == ("key", True, "value", True)
    assert children_of(INT) == ()


def test_every_field_is_met_on_its_way():
    found = [".".join(one.name for one in way) for way in walk(SCHEMA.fields)]
    assert found == ["a", "a.element", "a.element.x", "a.element.y", "m", "m.key", "m.value", "m.value.element", "n"]
