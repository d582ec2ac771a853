"""System tables by name, and which rows a filter can be true of before they are read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.read.rows import table_of_rows
from lakebed.catalog.inspect.registry import SYSTEM_TABLES, find_system_table
from lakebed.catalog.inspect.system_table import Keep, columns
from lakebed.errors import NotFound
from lakebed.table.filter.bind import parse_filter

SCHEMA = columns(("name", "string", ""), ("space", "string", ""), ("size", "long", ""))
VALUES = st.none() | st.sampled_from(["a", "b", ""])

LEAVES = [
    *(
        f"{one} {compared} '{value}'"
        for one in ("name", "space")
        for compared in ("=", "!=", "<", ">=")
        for value in "ab"
    ),
    "name IN ('a', 'b')",
    "name NOT IN ('a', '')",
    "space IS NULL",
    "name IS NOT NULL",
    "size = 1",
    "size IS NULL",
    "true",
    "false",
]
CONDITIONS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        st.builds("({} AND {})".format, inner, inner)
        | st.builds("({} OR {})".format, inner, inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(CONDITIONS, VALUES, VALUES, st.none() | st.sampled_from([1, 2]))
def test_a_row_that_passes_is_never_skipped(where, name, space, size):
    filter = parse_filter(where, SCHEMA)
    passes = table_of_rows(SCHEMA, [(name, space, size)], filter).num_rows == 1
    keep = Keep(filter)
    for known in ({}, {"name": name}, {"name": name, "space": space}):
        assert keep(known) or not passes
    assert keep({"name": name, "space": space, "size": size}) == passes


def test_without_a_filter_all_is_kept():
    assert Keep(None)({"name": "anything"})


def test_a_system_table_is_found_by_its_name():
    for name, table in SYSTEM_TABLES.items():
        assert find_system_table(name) is find_system_table(name.upper()) is table


@pytest.mark.parametrize("name", ["", "tables", "__table", None, 1, ["__tables"]])
def test_another_name_is_answered_with_all_that_there_are(name):
    with pytest.raises(NotFound) as caught:
        find_system_table(name)
    assert all(one in str(caught.value) for one in SYSTEM_TABLES)


def test_every_column_says_what_it_means():
    assert [one.name for table in SYSTEM_TABLES.values() for one in table.schema.fields if not one.comment] == []
