"""Schema evolution: what each change does, what is refused and why, and that Iceberg does the same."""

from datetime import date
from itertools import count
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import ValidationError
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import IcebergType

from lakebed.errors import Invalid
from lakebed.table.schema.evolution import (
    FIRST,
    add_column,
    after,
    before,
    column_id_count,
    drop_column,
    is_like,
    make_optional,
    move_column,
    rename_column,
    set_comment,
    set_default,
    set_key,
    widen_column,
)
from lakebed.table.schema.json import schema_from_json, schema_to_json
from lakebed.table.schema.schema import Schema, physical_names, with_ids, with_key
from lakebed.table.types.types import Field, List, Map, Struct, parse_type, walk
from tests.support.evolutions import FIRST_SCHEMA, Step, draw, evolutions, take

ADDRESS = Struct((Field("street", "string"), Field("zip", "int", required=True)))
ORDERS = with_ids(
    Schema(
        [
            Field("id", "long", required=True),
            Field("price", "int"),
            Field("address", ADDRESS),
            Field("items", List(ADDRESS, element_required=True)),
            Field("by_name", Map(ADDRESS, ADDRESS, value_required=True)),
        ]
    ),
    1,
    1,
)


def add(schema, path, type, first=100, **how):
    return add_column(schema, path, type, ids=count(first), **how)


def test_a_column_is_added_last_with_a_fresh_id_and_its_name_in_the_files():
    grown = add(ORDERS, "Note", "string", comment="what was said")
    assert grown.names == (*ORDERS.names, "Note")
    assert grown.field("note") == Field("Note", "string", comment="what was said", id=100, physical_name="Note")
    assert grown.fields[:-1] == ORDERS.fields
    assert grown.id == ORDERS.id


@pytest.mark.parametrize(
    ("position", "names"),
    [
        (FIRST, "new id price address items by_name"),
        (before("PRICE"), "id new price address items by_name"),
        (after("price"), "id price new address items by_name"),
        (after("by_name"), "id price address items by_name new"),
    ],
)
def test_a_column_is_added_where_one_wants_it(position, names):
    assert add(ORDERS, "new", "int", position=position).names == tuple(names.split())


def test_the_ids_of_a_new_column_go_level_by_level():
    type = "struct<a: list<int>, b: map<string, struct<c: int>>>"
    grown = add(ORDERS, "new", type)
    assert column_id_count(type) == 7
    ids = {way[-1].id: ".".join(one.name for one in way) for way in walk(grown.fields[-1:])}
    assert ids == {
        100: "new",
        101: "new.a",
        102: "new.b",
        103: "new.a.element",
        104: "new.b.key",
        105: "new.b.value",
        106: "new.b.value.c",
    }


@pytest.mark.parametrize("above", ["address", "items.element", "by_name.value"])
def test_fields_are_added_changed_and_dropped_inside_structs_lists_and_maps(above):
    grown = add(ORDERS, f"{above}.city", "int", position=after(f"{above}.street"))
    assert [one.name for one in grown.find(above).type.fields] == ["street", "city", "zip"]
    wider = widen_column(rename_column(grown, f"{above}.city", "town"), f"{above}.town", "long")
    assert (wider.find(f"{above}.town").type, wider.find(f"{above}.town").physical_name) == (parse_type("long"), "city")
    assert not make_optional(wider, f"{above}.zip").find(f"{above}.zip").required
    assert drop_column(wider, f"{above}.town") == ORDERS


def test_a_default_is_for_rows_that_are_there_and_for_those_to_come():
    grown = add(ORDERS, "day", "date", default=date(1970, 1, 3), required=True)
    assert (grown.field("day").initial_default, grown.field("day").write_default) == (2, 2)
    later = set_default(grown, "day", date(1970, 1, 9))
    assert (later.field("day").initial_default, later.field("day").write_default) == (2, 8)
    assert set_default(later, "day", None).field("day").write_default is None


def test_a_name_that_files_had_is_never_used_again():
    dropped = drop_column(ORDERS, "price")
    again = add(dropped, "Price", "string", used_names=physical_names(ORDERS))
    assert again.field("price").physical_name == "Price_100"
    renamed = rename_column(ORDERS, "price", "cost")
    assert renamed.field("cost").physical_name == "price"
    assert add(renamed, "price", "string").field("price").physical_name == "price_100"
    taken = {*physical_names(ORDERS), "price_100", "x_100"}
    assert add(renamed, "price", "int", used_names=taken).field("price").physical_name == "price_100_100"


def test_a_column_that_is_known_keeps_its_ids_and_names_in_files_and_the_type_of_its_oldest():
    known = widen_column(
        add(ORDERS, "tax rate", "struct<a: decimal(5, 2), b: list<int>>"), "tax rate.a", "decimal(9, 2)"
    )
    again = add(ORDERS, "tax rate", "struct<a: decimal(9, 2), b: list<int>>", 900, known=known.field("tax rate"))
    assert again == known
    more = add(ORDERS, "tax rate", str(known.field("tax rate").type), comment="new", known=known.field("tax rate"))
    assert more == set_comment(known, "tax rate", "new")
    assert is_like(more.field("tax rate"), known.field("tax rate"))
    assert not is_like(Field("a", "struct<x: int>"), Field("a", "struct<x: long>"))
    assert not is_like(Field("a", "struct<x: int>"), Field("a", Struct((Field("x", "int", required=True),))))
    assert not is_like(Field("a", List(parse_type("int"))), Field("a", List(parse_type("int"), element_required=True)))


def test_a_comment_and_a_key_can_change():
    assert set_comment(ORDERS, "price", "in cents").field("price").comment == "in cents"
    keyed = set_key(ORDERS, ["id"])
    assert (keyed.key, keyed.identifier_ids) == (("id",), (1,))
    assert set_key(keyed, []) == ORDERS
    assert rename_column(keyed, "id", "number").key == ("number",)


def test_a_key_reaches_into_required_structs():
    nested = with_key(with_ids(Schema({"s": "struct<a: int, b: string>", "c": "int"}), 1, 1), ["s.a", "c"])
    assert nested.key == ("s.a", "c")
    assert [nested.find(path).required for path in ("s", "s.a", "s.b", "c")] == [True, True, False, True]
    for change in (drop_column, make_optional):
        for path in ("s", "s.a", "c"):
            with pytest.raises(Invalid, match="a column of the primary key can't be"):
                change(nested, path)
    assert drop_column(nested, "s.b").key == ("s.a", "c")


KEYED = set_key(ORDERS, ["id"])
REFUSED = {
    "a type that is narrower": (lambda: widen_column(ORDERS, "id", "int"), "id", "can only get wider"),
    "a decimal of another scale": (
        lambda: widen_column(add(ORDERS, "d", "decimal(5, 2)"), "d", "decimal(9, 3)"),
        "d",
        "can only get wider",
    ),
    "a decimal of fewer digits": (
        lambda: widen_column(add(ORDERS, "d", "decimal(5, 2)"), "d", "decimal(4, 2)"),
        "d",
        "can only get wider",
    ),
    "a struct for a struct": (lambda: widen_column(ORDERS, "address", ADDRESS), "address", "can only get wider"),
    "int to string": (lambda: widen_column(ORDERS, "address.zip", "string"), "address.zip", "can only get wider"),
    "required without default": (lambda: add(ORDERS, "n", "int", required=True), "n", "without a default"),
    "a name that is taken": (lambda: add(ORDERS, "PRICE", "int"), "PRICE", "already a column with this name"),
    "a nested name that is taken": (
        lambda: add(ORDERS, "address.Zip", "int"),
        "address.Zip",
        "already a column with this name",
    ),
    "a new name that is taken": (
        lambda: rename_column(ORDERS, "id", "Price"),
        "Price",
        "already a column with this name",
    ),
    "a name that is none": (lambda: rename_column(ORDERS, "id", ""), "''", "empty or too long"),
    "no such column": (lambda: drop_column(ORDERS, "nope"), "'nope'", "no such column"),
    "no such nested column": (lambda: rename_column(ORDERS, "address.nope", "x"), "'address.nope'", "no such column"),
    "no such parent": (lambda: add(ORDERS, "nope.x", "int"), "'nope'", "no such column"),
    "a column in a number": (lambda: add(ORDERS, "price.x", "int"), "price", "only be added to a struct"),
    "a column in a list": (lambda: add(ORDERS, "items.x", "int"), "items", "only be added to a struct"),
    "no name": (lambda: add(ORDERS, (), "int"), "()", "no name"),
    "the last column": (lambda: drop_column(Schema({"a": "int"}), "a"), "a", "last column"),
    "the last field": (
        lambda: drop_column(drop_column(ORDERS, "address.zip"), "address.street"),
        "address.street",
        "last column",
    ),
    "the key dropped": (lambda: drop_column(KEYED, "id"), "id", "primary key can't be dropped"),
    "the key made optional": (lambda: make_optional(KEYED, "id"), "id", "primary key can't be made optional"),
    "a column in use": (lambda: drop_column(ORDERS, "price", in_use={2}), "price", "spec or sort order"),
    "a field in use": (
        lambda: drop_column(ORDERS, "address", in_use={ORDERS.find("address.zip").id}),
        "address",
        "spec or sort order",
    ),
    "a move to another struct": (
        lambda: move_column(ORDERS, "address.zip", after("items.element.zip")),
        "items.element.zip",
        "leave its struct",
    ),
    "a move out of a struct": (lambda: move_column(ORDERS, "address.zip", before("id")), "id", "leave its struct"),
    "a move beside itself": (lambda: move_column(ORDERS, "id", before("id")), "id", "beside itself"),
    "a map's key": (lambda: widen_column(ORDERS, "by_name.key.zip", "long"), "by_name.key.zip", "keys of a map"),
    "a field in a map's key": (lambda: add(ORDERS, "by_name.key.x", "int"), "by_name.key", "keys of a map"),
    "an element that is dropped": (lambda: drop_column(ORDERS, "items.element"), "items.element", "no name or place"),
    "a value that is renamed": (lambda: rename_column(ORDERS, "by_name.value", "v"), "by_name.value", "no name"),
    "a default of another type": (
        lambda: add(ORDERS, "n", "int", default="7"),
        "n",
        "not a value of the column's type",
    ),
    "a default for a list": (
        lambda: add(ORDERS, "n", "list<int>", default=[]),
        "n",
        "not a value of the column's type",
    ),
    "a default that is too large": (lambda: set_default(ORDERS, "price", 2**31), "price", "not a value of"),
    "a key that may be null": (lambda: set_key(ORDERS, ["price"]), "price", "can't be in a primary key"),
    "a key in a list": (lambda: set_key(ORDERS, ["items.element.zip"]), "items.element.zip", "can't be in a primary"),
    "a key in an optional struct": (lambda: set_key(ORDERS, ["address.zip"]), "address.zip", "can't be in a primary"),
    "a floating key": (
        lambda: set_key(add(ORDERS, "f", "double", default=0.0, required=True), ["f"]),
        "f",
        "can't be in a primary key",
    ),
    "a key twice": (lambda: set_key(ORDERS, ["id", "ID"]), "id", "twice"),
    "a key that is no list": (lambda: set_key(ORDERS, "id"), "'id'", "list of names"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_the_field_and_the_rule(name):
    change, subject, rule = REFUSED[name]
    with pytest.raises(Invalid, match=rule) as caught:
        change()
    assert caught.value.subject == subject


def test_a_name_with_a_dot_is_given_as_a_tuple():
    dotted = add(ORDERS, ("address.zip",), "string")
    assert dotted.find(("address.zip",)).id == 100
    assert dotted.find(("address", "zip")) == ORDERS.find("address.zip")
    with pytest.raises(Invalid, match="two fields have this path"):
        drop_column(dotted, "address.zip")
    assert drop_column(dotted, ("address.zip",)) == ORDERS


def iceberg(schema):
    return IcebergSchema.model_validate_json(schema_to_json(schema))


def take_by_iceberg(step: Step, schema: IcebergSchema, last_id: int) -> IcebergSchema:
    """The same change by PyIceberg, which gives out ids from the last one on."""
    update = UpdateSchema(
        SimpleNamespace(table_metadata=SimpleNamespace(partition_specs=[], schemas=[schema])),
        case_sensitive=False,
        schema=schema,
    )
    update._last_column_id = count(last_id + 1)
    path = step.path
    match step.change:
        case "add":
            type = iceberg(with_ids(Schema({"x": step.detail}), 0, 1)).fields[0].field_type
            update.add_column(path, type, required=step.required, default_value=step.default)
        case "drop":
            update.delete_column(path)
        case "rename":
            update.rename_column(path, step.detail)
        case "first":
            update.move_first(path)
        case "before":
            update.move_before(path, step.detail)
        case "after":
            update.move_after(path, step.detail)
        case "widen":
            update.update_column(path, field_type=IcebergType.handle_primitive_type(step.detail, None))
        case "optional":
            update.make_column_optional(path)
        case "comment":
            update.update_column(path, doc=step.detail)
        case "default":
            update.set_default_value(path, step.detail)
        case "key":
            update.set_identifier_fields(".".join(path))
    return update._apply()


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_iceberg_makes_the_same_of_what_both_allow(random: Random):
    schema, theirs, last = FIRST_SCHEMA, iceberg(FIRST_SCHEMA), FIRST_SCHEMA.highest_id
    for _ in range(12):
        step = draw(random, schema)
        ids = count(last + 1)
        try:
            after_it = take(step, schema, ids)
        except Invalid:
            continue
        if step.change == "default" and step.detail is None and schema.way(step.path)[-1].required:
            continue  # PyIceberg refuses to take a default away from a required column, whether it has one or not
        try:
            theirs = take_by_iceberg(step, theirs, last)
        except (ValueError, ValidationError) as error:
            raise AssertionError((step, str(schema))) from error
        schema, last = after_it, next(ids) - 1
        assert theirs.as_struct() == iceberg(schema).as_struct(), step
        assert set(theirs.identifier_field_ids) == set(schema.identifier_ids)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_whatever_comes_of_a_schema_is_one_that_a_table_can_keep(random: Random):
    found = evolutions(random, FIRST_SCHEMA, count(100), 15)
    owners: dict[tuple[int, str], int] = {}
    for schema in found:
        assert schema_from_json(schema_to_json(schema)) == schema
        assert len(schema.ways) == len(list(walk(schema.fields)))
        for way in walk(schema.fields):
            place = (way[-2].id if len(way) > 1 else 0, way[-1].physical_name.lower())
            assert owners.setdefault(place, way[-1].id) == way[-1].id, "two columns had one name in the files"
