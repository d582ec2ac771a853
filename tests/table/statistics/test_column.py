"""A column that a file is older than is known by its default; where that is not certain, nothing is known."""

from itertools import count
from typing import Any

import pytest

from lakebed.errors import Corrupt
from lakebed.table.filter.bind import bind
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.plan.covers import covers
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.evolution import add_column, drop_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT
from lakebed.table.types.values import encode_bound

OLD = with_ids(Schema({"a": "int", "s": "struct<x: int>"}), 1, 1)
FILE = DataFileRef(
    path="data/old.parquet",
    num_rows=2,
    statistics=[
        ColumnStatistics(
            field_id=1, value_count=2, null_count=0, lower=encode_bound(INT, 1), upper=encode_bound(INT, 2)
        ),
        ColumnStatistics(field_id=3, value_count=2, null_count=1),
    ],
)


def later(path: str, type: str, default: Any = None) -> Schema:
    return add_column(OLD, path, type, ids=count(10), default=default)


def kept(text: str, schema: Schema) -> bool:
    return may_match(bind(text, schema), FILE, OLD)


def covered(text: str, schema: Schema) -> bool:
    return covers(bind(text, schema), FILE, OLD)


@pytest.mark.parametrize(
    ("type", "default", "true", "false"),
    [
        ("int", 7, "b = 7", "b = 8"),
        ("int", 7, "b > 6", "b < 7"),
        ("int", 7, "b in (7, 9)", "b in (8, 9)"),
        ("int", 7, "b not in (8, 9)", "b not in (7, 9)"),
        ("int", 7, "b between 7 and 8", "b not between 7 and 8"),
        ("int", 7, "b is not null", "b is null"),
        ("double", 0.5, "not isnan(b)", "isnan(b)"),
        ("double", 0.5, "b >= 0.5", "b > 0.5"),
        ("string", "a" * 40, f"b = '{'a' * 40}'", f"b = '{'a' * 39}'"),
        ("string", "abc", "b like '%c'", "b not like '%c'"),
        ("string", "abc", "b like 'ab%'", "b like 'ac%'"),
        ("int", None, "b is null", "b is not null"),
        ("int", None, "a = 1 or b is null", "b = 7"),
        ("int", None, "b is null", "b != 7"),
        ("struct<y: int>", None, "b.y is null", "b.y = 7"),
    ],
)
def test_the_default_of_a_column_that_came_later_is_compared(type: str, default: Any, true: str, false: str) -> None:
    schema = later("b", type, default)
    assert kept(true, schema)
    assert covered(true, schema)
    assert not kept(false, schema)
    assert not covered(false, schema)


def test_a_default_inside_a_struct_is_null_where_the_struct_is() -> None:
    schema = later("s.y", "int", 7)
    assert kept("s.y = 7", schema)
    assert kept("s.y is null", schema)
    assert not kept("s.y = 8", schema)
    assert not covered("s.y = 7", schema)
    assert covered("s.y = 7 or s.y is null", schema)
    assert covered("s.y is null", later("s.y", "int"))


@pytest.mark.parametrize("text", ["b = 8", "b is null", "b is not null", "b in (8)", "b < 0"])
def test_a_file_is_kept_where_nobody_knows_whether_it_has_the_column(text: str) -> None:
    schema = later("b", "int", 7)
    filter = bind(text, schema)
    foreign = DataFileRef(path="foreign.parquet", num_rows=2)
    assert may_match(filter, FILE), "the schema is not known"
    assert may_match(filter, FILE, schema), "the schema has the column, the statistics may be left out"
    assert may_match(filter, foreign, OLD), "an entry without statistics says nothing of its columns"
    assert not covers(filter, FILE)
    assert not covers(filter, FILE, schema)
    assert not covers(filter, foreign, OLD)


def test_a_file_that_a_merge_brought_under_a_schema_without_its_column_has_it_all_the_same() -> None:
    """Written on a branch that has the column, merged into one that dropped it, which then comes back."""
    schema = later("b", "int", 7)
    dropped = drop_column(schema, "b")
    known = ColumnStatistics(field_id=schema.field("b").id, value_count=2, null_count=0, lower=encode_bound(INT, 1))
    file = DataFileRef(path="merged.parquet", num_rows=2, statistics=[*FILE.statistics, known])
    assert may_match(bind("b = 8", schema), file, dropped)
    assert not covers(bind("b = 7", schema), file, dropped)


def test_a_struct_of_which_the_entry_knows_a_part_is_in_the_file() -> None:
    grown = add_column(later("b", "struct<y: int>"), "b.z", "int", ids=count(20), default=7)
    known = ColumnStatistics(field_id=grown.find("b.y").id, value_count=2, null_count=0)
    file = DataFileRef(path="merged.parquet", num_rows=2, statistics=[*FILE.statistics, known])
    assert may_match(bind("b.z = 8", grown), file, OLD)
    assert may_match(bind("b.z is not null", grown), file, OLD)


def test_a_damaged_bound_names_its_file_and_column() -> None:
    file = DataFileRef(path="data/a.parquet", statistics=[ColumnStatistics(field_id=3, lower=b"abc")])
    with pytest.raises(Corrupt, match=r"data/a\.parquet, column s\.x: these bytes are not a bound"):
        may_match(bind("s.x < 1", OLD), file)
