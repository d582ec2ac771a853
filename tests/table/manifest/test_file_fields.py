"""The entry of a file says which fields it has, where its columns' names could mislead."""

import pytest

from lakebed.errors import Corrupt
from lakebed.table.manifest.file_fields import (
    ABSENT,
    column_names_of,
    field_ids_of,
    fields_for_file,
    set_column_names,
    set_field_ids,
)
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import walk

TYPES = {"a": "long", "s": "struct<x: int, y: int>", "l": "list<struct<x: int, y: int>>", "m": "map<string, int>"}
SCHEMA = with_ids(Schema(TYPES), 1, 1)


def test_an_entry_that_says_nothing_leaves_the_fields_as_they_are():
    assert field_ids_of(DataFileRef(path="a")) is None
    assert fields_for_file(DataFileRef(path="a"), SCHEMA.fields) is SCHEMA.fields


def test_fields_that_a_file_lacks_are_looked_for_where_nothing_is_on_every_level():
    file = DataFileRef(path="a")
    lost = {SCHEMA.find(path).id for path in ("a", "s.y", "l.element.x")}
    set_field_ids(file, SCHEMA.ways.keys() - lost)
    assert field_ids_of(file) == SCHEMA.ways.keys() - lost
    found = {way[-1].id: way[-1] for way in walk(fields_for_file(file, SCHEMA.fields))}
    assert found.keys() == SCHEMA.ways.keys()
    assert {id for id, one in found.items() if one.physical_name.startswith(ABSENT)} == lost
    assert all(one.name == SCHEMA.field_by_id(id).name for id, one in found.items())
    assert len({one.physical_name for one in found.values() if one.id in lost}) == 3


def test_a_file_that_holds_nothing_is_not_one_that_says_nothing():
    file = DataFileRef(path="a")
    set_field_ids(file, [])
    assert field_ids_of(file) == frozenset()
    assert all(one.physical_name.startswith(ABSENT) for one in fields_for_file(file, SCHEMA.fields))


def test_ids_that_are_no_numbers_are_corrupt():
    with pytest.raises(Corrupt) as caught:
        field_ids_of(DataFileRef(path="a.parquet", field_ids="1 x"))
    assert (caught.value.subject, caught.value.found) == ("a.parquet", "1 x")


def test_a_file_is_asked_for_the_names_that_it_has_on_every_level():
    file = DataFileRef(path="a")
    names = {SCHEMA.find(path).id: f"${{{path}}}" for path in ("a", "l.element.x")}
    set_column_names(file, names)
    assert column_names_of(file) == names
    found = {way[-1].id: way[-1] for way in walk(fields_for_file(file, SCHEMA.fields))}
    changed = {
        id: one.physical_name for id, one in found.items() if one.physical_name != SCHEMA.field_by_id(id).physical_name
    }
    assert changed == names
    set_field_ids(file, SCHEMA.ways.keys() - {SCHEMA.find("a").id})
    assert fields_for_file(file, SCHEMA.fields)[0].physical_name.startswith(ABSENT)


def test_the_golden_bytes_of_names():
    file = DataFileRef()
    set_column_names(file, {3: "a b", 1: "é"})
    assert file.SerializeToString().hex() == "e206060801 1202c3a9 e206070803 1203612062".replace(" ", "")
