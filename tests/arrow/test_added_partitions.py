"""The partition of a Parquet file that others wrote: that of all its rows, or it is refused."""

from datetime import datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.files import LocalFiles
from lakebed.table.partition.spec import make_spec
from lakebed.table.partition.values import partition_values
from lakebed.table.schema.evolution import add_column
from tests.support.added_entries import SCHEMA, TABLE, entry, numbered, refusal


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "lake")


def values_of(files, path, schema, texts):
    spec = make_spec(schema, texts, spec_id=1)
    found = entry(files, path, schema, spec)
    assert found.spec_id == 1
    return list(partition_values(found, spec, schema).values())


DAYS = numbered({"at": "timestamp", "region": "string", "x": "double", "n": "long"})


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(
    "text, expected",
    [("day(at)", 18262), ("month(at)", 600), ("region", "eu"), ("truncate(10, n)", 20), ("bucket(4, region)", 2)],
)
def test_the_partition_is_that_of_all_rows(files, put, statistics, text, expected):
    table = pyarrow.table(
        {"at": [datetime(2020, 1, 1, 5), datetime(2020, 1, 1, 23)], "region": ["eu", "eu"], "n": [20, 29]}
    ).cast(pyarrow.schema([("at", pyarrow.timestamp("us")), ("region", pyarrow.string()), ("n", pyarrow.int64())]))
    [found] = values_of(files, put(table, write_statistics=statistics), DAYS, [text])
    assert found == expected


def test_nulls_are_a_partition_of_their_own(files, put):
    nulls = pyarrow.table({"region": pyarrow.nulls(2, pyarrow.string()), "n": [1, 2]})
    assert values_of(files, put(nulls), DAYS, ["region", "day(at)"]) == [None, None]
    mixed = pyarrow.table({"region": ["eu", None]})
    spec = make_spec(DAYS, ["region"], spec_id=1)
    assert "region: rows of several partitions" in refusal(files, put(mixed, "b.parquet"), DAYS, spec)


def test_a_default_is_in_its_partition(files, put):
    grown = add_column(SCHEMA, "kind", "string", ids=iter([9]), default="x")
    assert values_of(files, put(TABLE), grown, ["kind"]) == ["x"]


@pytest.mark.parametrize("statistics", [True, False])
def test_rows_of_several_partitions_are_refused_with_file_and_field(files, put, statistics):
    table = pyarrow.table({"region": ["eu", "us"], "n": [1, 1]})
    spec = make_spec(DAYS, ["n", "region"], spec_id=1)
    found = refusal(files, put(table, write_statistics=statistics), DAYS, spec)
    assert "/a.parquet: region: rows of several partitions, such as" in found
    assert "parquet: n: rows" not in found


def test_a_nan_that_no_statistics_show_is_in_a_partition_of_its_own(files, put):
    spec = make_spec(DAYS, ["x"], spec_id=1)
    table = pyarrow.table({"x": [1.0, float("nan"), 1.0]})
    assert "x: rows of several partitions" in refusal(files, put(table), DAYS, spec)
    assert values_of(files, put(pyarrow.table({"x": [1.0, 1.0]}), "b.parquet"), DAYS, ["x"]) == [1.0]


def test_long_texts_are_in_one_partition_if_they_are_one(files, put):
    long = "ä" * 500
    assert values_of(files, put(pyarrow.table({"region": [long, long]})), DAYS, ["region"]) == [long]
    table = pyarrow.table({"region": [f"{long}1", f"{long}2"]})
    spec = make_spec(DAYS, ["region"], spec_id=1)
    assert "several" in refusal(files, put(table, "b.parquet"), DAYS, spec)
    assert values_of(files, put(table, "b.parquet"), DAYS, ["truncate(5, region)"]) == ["äääää"]


@settings(max_examples=60)
@given(
    st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=6),
    st.sampled_from(["n", "truncate(10, n)", "bucket(3, n)", "void(n)"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_a_file_is_taken_if_and_only_if_its_rows_are_in_one_partition(tmp_path_factory, rows, text, statistics, group):
    schema = numbered({"n": "long"})
    spec = make_spec(schema, [text], spec_id=1)
    folder = tmp_path_factory.mktemp("added")
    path = str(folder / "a.parquet")
    table = pyarrow.table({"n": pyarrow.array(rows, pyarrow.int64())})
    pyarrow.parquet.write_table(table, path, write_statistics=statistics, row_group_size=group)
    expected = {spec.fields[0].transform.apply(schema.field("n").type, one) for one in rows}
    files = LocalFiles(folder / "lake")
    if len(expected) > 1:
        assert "several" in refusal(files, path, schema, spec)
    else:
        assert [*partition_values(entry(files, path, schema, spec), spec, schema).values()] == [*expected]
