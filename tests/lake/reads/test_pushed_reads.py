"""What engines push into a scan with a filter of its own, on partitions, in transactions: no row more, none less."""

import pyarrow
import pyarrow.compute as compute
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed import Catalog, Table

field = compute.field
WHERE = (None, "part = 1", "n > 3", "part in (0, 2) and n <= 7", "n + 1 > 4", "part is null or label = 'a'")
PUSHED = st.recursive(
    st.sampled_from(
        [
            field("part") == 1,
            field("part").is_null(),
            field("n") > 5,
            field("n").isin([0, 3, 9]),
            field("label") == "a",
            ~(field("label") == "a"),
            field("n") * 2 > field("part"),
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        inner.map(lambda one: ~one),
    ),
    max_leaves=4,
)


@pytest.fixture
def table(main: Catalog) -> Table:
    table = main.create_table(
        "t",
        {"part": "int", "n": "long", "label": "string"},
        partition_by=["part"],
        properties={"write.inline-bytes": "0"},
    )
    for start in (0, 5):
        numbers = list(range(start, start + 5))
        parts = pyarrow.array([None if n % 4 == 3 else n % 4 for n in numbers], pyarrow.int32())
        table.append(pyarrow.table({"part": parts, "n": numbers, "label": [None, *"abab"]}))
    table.delete("n = 6")
    return table


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(where=st.sampled_from(WHERE), pushed=PUSHED, columns=st.sampled_from([None, ["n"], ["label", "part"], []]))
def test_no_row_more_and_none_less(main, table, where, pushed, columns):
    expected = table.scan(where).to_arrow().filter(pushed).select(table.schema.names if columns is None else columns)
    assert table.scan(where).to_dataset().to_table(columns, pushed).to_pylist() == expected.to_pylist()
    with main.transaction() as tx:
        inside = tx.table("t").scan(where).to_dataset().to_table(columns, pushed)
        assert inside.to_pylist() == expected.to_pylist()
        assert inside.num_rows == expected.num_rows
