"""Arrow keeps the rows that a filter is true of, for columns of every type, at the top and inside structs."""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.arrow.expression.filter import filter_mask
from lakebed.arrow.types import arrow_schema
from lakebed.table.filter.bind import bind
from lakebed.table.filter.column import col
from lakebed.table.filter.like import parse_pattern
from lakebed.table.plan.pruning import row_group_matches
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.footers import data_file
from tests.support.brute_force import NASTY, PLACES, every_filter, passes, row_of, schema_of


def array_of(values: list[Any], type: pyarrow.DataType) -> pyarrow.Array:
    if not pyarrow.types.is_struct(type):
        return pyarrow.array(values, type)
    # Where a struct is null, the columns inside it have values all the same, which nobody may see.
    inner = [
        array_of([values[0][part.name] if one is None else one[part.name] for one in values], part.type)
        for part in type
    ]
    return pyarrow.StructArray.from_arrays(
        inner, fields=list(type), mask=pyarrow.array([one is None for one in values])
    )


def table_of(schema: Schema, rows: list[dict[str, Any]]) -> pyarrow.Table:
    form = arrow_schema(schema)
    return pyarrow.table([array_of([row[one.name] for row in rows], one.type) for one in form], schema=form)


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("type", sorted(NASTY))
def test_arrow_keeps_the_rows_that_a_filter_is_true_of(type: str, place: str) -> None:
    schema, way = schema_of(type, place)
    values = [*((one, 0) for one in NASTY[type]), (None, 0), (None, 1), (None, 2)]
    rows = [{"id": at} | row_of(way, value, level) for at, (value, level) in enumerate(values)]
    table = table_of(schema, rows)
    for filter in every_filter(way, NASTY[type]):
        kept = table.filter(filter_mask(filter, table, lambda field: field.name))["id"].to_pylist()
        assert kept == [row["id"] for row in rows if passes(filter, row)], filter


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("type", sorted(NASTY))
def test_a_row_group_with_a_row_to_keep_is_never_skipped(type: str, place: str, tmp_path: Path) -> None:
    schema, way = schema_of(type, place)
    values = [*((one, 0) for one in NASTY[type]), (None, 0), (None, 1), (None, 2), (NASTY[type][0], 0)]
    rows = [{"id": at} | row_of(way, value, level) for at, (value, level) in enumerate(values)]
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table_of(schema, rows), path, row_group_size=2)
    file = data_file(pyarrow.parquet.read_metadata(path), schema, path=path.name, size=path.stat().st_size)
    skipped = 0
    for filter in every_filter(way, NASTY[type][::2]):
        found = row_group_matches(filter, file)
        kept = set(range(len(file.blocks)) if found is None else found)
        assert {row["id"] // 2 for row in rows if passes(filter, row)} <= kept, filter
        skipped += len(file.blocks) - len(kept)
    assert skipped


WORDS = with_ids(Schema({"word": "string"}), 1, 1)
TEXTS = st.text("ab%_\\\n.*é😀", max_size=6)


@given(
    st.lists(st.sampled_from(["a", "b", "%", "_", "\\%", "\\_", "\\\\", "\n", ".", "*", "é", "😀"]), max_size=8), TEXTS
)
def test_arrow_matches_any_pattern_as_it_is_meant(parts: list[str], text: str) -> None:
    pattern = "".join(parts)
    filter = bind(col("word").like(pattern), WORDS)
    for one in (text, parse_pattern(pattern).text, pattern.replace("%", "").replace("_", text[:1])):
        table = pyarrow.table({"word": [one, None]})
        expected = [one] if parse_pattern(pattern).matches(one) else []
        assert table.filter(filter_mask(filter, table, lambda field: field.name))["word"].to_pylist() == expected
        other = bind(~col("word").like(pattern), WORDS)
        assert table.filter(filter_mask(other, table, lambda field: field.name)).num_rows == 1 - len(expected)


def test_names_with_dots_are_no_ways() -> None:
    schema = with_ids(Schema({"a.b": "struct<`c.d`: int>", "a": "struct<b: int>"}), 1, 1)
    table = table_of(schema, [{"a.b": {"c.d": at}, "a": {"b": -at}} for at in range(3)])
    assert table.filter(filter_mask(bind("`a.b`.`c.d` = 1", schema), table, lambda field: field.name))[
        "a"
    ].to_pylist() == [{"b": -1}]
    assert table.filter(filter_mask(bind("a.b = -2", schema), table, lambda field: field.name))["a"].to_pylist() == [
        {"b": -2}
    ]
