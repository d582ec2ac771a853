"""Columns of rows that a table does not have."""

from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema


def found(table: dict[str, str], given: dict[str, str]) -> list[tuple[tuple[str, ...], str]]:
    return [(path, str(type)) for path, type in new_columns(Schema(table), Schema(given))]


def test_a_name_in_another_case_is_not_new() -> None:
    assert found({"Id": "long"}, {"ID": "string", "x": "int"}) == [(("x",), "int")]


def test_fields_on_every_level_are_new() -> None:
    there = {"s": "struct<a: int>", "l": "list<struct<a: int>>", "m": "map<string, struct<a: int>>"}
    given = {"s": "struct<a: int, b: int>", "l": "list<struct<b: int>>", "m": "map<string, struct<b: int>>"}
    assert found(there, given) == [(("s", "b"), "int"), (("l", "element", "b"), "int"), (("m", "value", "b"), "int")]


def test_what_is_new_as_a_whole_comes_once() -> None:
    assert [path for path, _ in found({"a": "int"}, {"s": "struct<a: int, b: struct<c: int>>"})] == [("s",)]


def test_a_column_of_another_kind_is_left_to_whoever_fits_it() -> None:
    assert found({"a": "struct<x: int>"}, {"a": "int"}) == []
