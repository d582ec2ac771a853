"""Bringing Arrow columns to a schema."""

from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.shape import AS_GIVEN, AS_STORED, misfits, shaped
from lakebed.arrow.types import arrow_schema, file_schema
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field, Struct

ints = st.none() | st.integers(-5, 5)
lists = st.lists(st.none() | st.lists(ints, max_size=3), max_size=8)


def brought(column: pyarrow.Array, type: str) -> pyarrow.Array:
    schema = with_ids(Schema({"a": type}), 0, 1)
    [found] = shaped([column], ["a"], schema.fields, file_schema(schema), AS_GIVEN, len(column))
    found.validate(full=True)
    assert found.type.equals(file_schema(schema).field(0).type, check_metadata=True)
    return found


@settings(deadline=None)
@given(lists, st.integers(0, 8))
@pytest.mark.parametrize(
    "layout",
    [pyarrow.list_, pyarrow.large_list, pyarrow.list_view, pyarrow.large_list_view],
    ids=lambda one: one.__name__,
)
def test_lists_of_every_layout_keep_their_elements(layout: Any, values: list[Any], start: int) -> None:
    given = pyarrow.array(values, layout(pyarrow.int8())).slice(min(start, len(values)))
    assert brought(given, "list<long>").to_pylist() == values[start:]


@settings(deadline=None)
@given(st.lists(st.none() | st.lists(ints, min_size=2, max_size=2), max_size=8), st.integers(0, 8))
def test_lists_of_one_size_keep_their_elements(values: list[Any], start: int) -> None:
    given = pyarrow.array(values, pyarrow.list_(pyarrow.int8(), 2)).slice(min(start, len(values)))
    assert brought(given, "list<long>").to_pylist() == values[start:]


@settings(deadline=None)
@given(st.lists(st.none() | st.lists(st.tuples(st.integers(0, 9), ints), max_size=3), max_size=8), st.integers(0, 8))
def test_maps_keep_their_entries(values: list[Any], start: int) -> None:
    given = pyarrow.array(values, pyarrow.map_(pyarrow.int8(), pyarrow.int8())).slice(min(start, len(values)))
    assert brought(given, "map<long, int>").to_pylist() == values[start:]


@settings(deadline=None)
@given(st.lists(st.none() | st.fixed_dictionaries({"X": ints, "y": lists}), max_size=8), st.integers(0, 8))
def test_structs_keep_their_fields(values: list[Any], start: int) -> None:
    type = pyarrow.struct([("y", pyarrow.list_(pyarrow.list_(pyarrow.int8()))), ("X", pyarrow.int8())])
    given = pyarrow.array(values, type).slice(min(start, len(values)))
    expected = [None if one is None else {"x": one["X"], "y": one["y"], "z": None} for one in values[start:]]
    assert brought(given, "struct<x: int, y: list<list<int>>, z: date>").to_pylist() == expected


def test_what_lies_under_a_null_is_not_looked_at() -> None:
    hidden = pyarrow.ListArray.from_arrays(
        pyarrow.array([0, 1, 2], pyarrow.int32()), pyarrow.array([None, 1]), mask=pyarrow.array([True, False])
    )
    schema = Schema([Field("a", "list<long>")])
    required = Schema([Field("a", type(schema.fields[0].type)(schema.fields[0].type.element, True))])
    [found] = shaped([hidden], ["a"], required.fields, arrow_schema(required), AS_GIVEN, 2)
    assert found.to_pylist() == [None, [1]]


def test_files_are_read_by_physical_names_alone() -> None:
    inner = Struct((Field("b", "int", physical_name="p"), Field("p", "int", physical_name="q")))
    schema = Schema([Field("a", inner, physical_name="s"), Field("s", "int", physical_name="A")])
    stored = pyarrow.table({"s": [{"p": 1, "q": 2}], "A": [3], "a": [9], "gone": [4]})
    columns = [one.combine_chunks() for one in stored.columns]
    found = shaped(columns, stored.column_names, schema.fields, arrow_schema(schema), AS_STORED, 1)
    assert [one.to_pylist() for one in found] == [[{"b": 1, "p": 2}], [3]]


def test_a_name_in_another_case_is_another_column_of_a_file() -> None:
    schema = Schema([Field("a", "int", True, physical_name="a")])
    found = list(misfits(pyarrow.schema([("A", pyarrow.int32())]), schema.fields, AS_STORED))
    assert [(one.path, one.expected, one.found) for one in found] == [("A", None, "int32"), ("a", "int not null", None)]
