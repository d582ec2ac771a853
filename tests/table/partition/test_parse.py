"""Transforms of columns in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.partition.parse import TransformedColumn, find_source, parse_partition_field
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(
    Schema(
        {
            "id": "long",
            "ordered_at": "timestamptz",
            "order day": "date",
            "a.b": "int",
            "home": "struct<city: string, moved: date, tags: list<string>>",
            "tags": "list<struct<x: int>>",
            "prices": "map<string, int>",
            "flag": "boolean",
        }
    ),
    1,
    1,
)


@pytest.mark.parametrize(
    ("text", "transform", "path"),
    [
        ("region", "identity", ("region",)),
        ("  region ", "identity", ("region",)),
        ("order-id", "identity", ("order-id",)),
        ("Größe", "identity", ("Größe",)),
        ("identity(region)", "identity", ("region",)),
        ("day(ordered_at)", "day", ("ordered_at",)),
        ("Days ( ordered_at )", "day", ("ordered_at",)),
        ("void(x)", "void", ("x",)),
        ("day", "identity", ("day",)),
        ("home.city", "identity", ("home", "city")),
        ("month(home.`moved in`)", "month", ("home", "moved in")),
        ("`a.b`", "identity", ("a.b",)),
        ("`a``b`", "identity", ("a`b",)),
        ("hour(`f(x), y`)", "hour", ("f(x), y",)),
    ],
)
def test_a_column_and_its_transform_are_read(text, transform, path):
    assert parse_partition_field(text) == TransformedColumn(Transform(transform), path)


@pytest.mark.parametrize("text", ["bucket(16, id)", "bucket[16](id)", "BUCKET( 16 ,id )", "bucket [ 16 ] (`id`)"])
def test_the_number_stands_in_either_place(text):
    assert parse_partition_field(text) == TransformedColumn(Transform("bucket", 16), ("id",))


names = st.text(min_size=1, max_size=8)
transforms = st.sampled_from([Transform("identity"), Transform("day"), Transform("bucket", 16), Transform("void")])


@given(st.builds(TransformedColumn, transforms, st.lists(names, min_size=1, max_size=3).map(tuple)))
def test_what_is_spelled_is_read_again(column):
    assert parse_partition_field(str(column)) == column


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bucket(id)", "bucket needs a number of buckets"),
        ("truncate(name)", "truncate needs a width"),
        ("bucket(0, id)", "bucket can't have this number"),
        ("bucket(-4, id)", "bucket can't have this number"),
        ("day(3, id)", "day takes no number"),
        ("week(id)", "no such transform .*expected one of identity"),
        ("bucket[2](4, id)", "can't be read"),
        ("bucket(id, 16)", "can't be read"),
        ("day(", "can't be read"),
        ("order day", r"can't be read .*backticks\."),
        ("a..b", "can't be read"),
        ("`a", "can't be read"),
        ("", "can't be read"),
        (5, "expected text, found int"),
    ],
)
def test_what_can_not_be_read_is_said(text, problem):
    with pytest.raises(Invalid, match=problem):
        parse_partition_field(text)


def found(text):
    return [one.name for one in find_source(SCHEMA, parse_partition_field(text))]


def test_a_column_is_found_without_case_and_inside_structs():
    assert found("day(ORDERED_AT)") == ["ordered_at"]
    assert found("month(Home.MOVED)") == ["home", "moved"]
    assert found("`a.b`") == ["a.b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nope", "'nope': there is no such column"),
        ("home.nope", r"home\.nope: there is no such column .*one of city, moved, tags"),
        ("a.b", "'a': there is no such column"),
        ("id.x", "leads into a struct only"),
        ("tags.x", "leads into a struct only"),
        ("prices.value", "leads into a struct only"),
        ("home", "a nested column can't be partitioned or sorted by"),
        ("bucket(4, tags)", "a nested column can't be partitioned or sorted by"),
        ("day(id)", r"day\(id\): day does not apply to this type .found long"),
        ("bucket(4, flag)", "bucket does not apply to this type"),
        ("hour(`order day`)", "hour does not apply to this type"),
    ],
)
def test_a_column_that_can_not_be_had_is_named(text, problem):
    with pytest.raises(Invalid, match=problem):
        found(text)
