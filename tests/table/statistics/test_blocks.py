"""What is said of a file is the union of what is said of its row groups."""

import io
import math
from decimal import Decimal

import pyarrow
import pyarrow.parquet
import pytest

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import Block, ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.blocks import check_blocks
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import LONG
from lakebed.table.types.values import encode_bound

SCHEMA = with_ids(Schema({"id": "long"}), 1, first=1)


def known(lower=None, upper=None, values=10, nulls=0, **others):
    found = ColumnStatistics(field_id=1, value_count=values, null_count=nulls, **others)
    if lower is not None:
        found.lower = encode_bound(LONG, lower)
    if upper is not None:
        found.upper = encode_bound(LONG, upper)
    return found


def file(whole, *blocks):
    return DataFileRef(
        path="a.parquet",
        num_rows=10 * len(blocks),
        statistics=[whole],
        blocks=[Block(num_rows=10, columns=[one]) for one in blocks],
    )


def test_a_union_is_right():
    # 300 is below 2 as bytes: bounds are compared as values.
    check_blocks(file(known(-5, 300, 30, 10), known(2, 300), known(-5, -1), known(nulls=10)), SCHEMA)


def test_what_is_unset_is_never_wrong():
    check_blocks(file(known(values=20), known(2, 3), known(1, 2)), SCHEMA)
    check_blocks(file(known(0, 9, 20), known(2, 3), known()), SCHEMA)
    check_blocks(DataFileRef(path="a", num_rows=5, statistics=[known(1, 2)]), SCHEMA)


@pytest.mark.parametrize(
    "whole, blocks, problem",
    [
        (known(2, 9, 20), (known(1, 5), known(2, 9)), "lower bound of column 1"),
        (known(0, 9, 20), (known(1, 5), known(2, 9)), "lower bound of column 1"),
        (known(1, 8, 20), (known(1, 5), known(2, 9)), "upper bound of column 1"),
        (known(1, 10, 20), (known(1, 5), known(2, 9)), "upper bound of column 1"),
        (known(2, 9, 20), (known(1, 5), known()), "lower bound of column 1"),
        (known(1, 2, 21), (known(1, 2), known(1, 2)), "value_count of column 1"),
        (known(1, 2, 20, 1), (known(1, 2), known(1, 2)), "null_count of column 1"),
        (known(1, 2, 20, size=5), (known(1, 2, size=2), known(1, 2, size=2)), "size of column 1"),
    ],
)
def test_what_is_no_union_is_corrupt(whole, blocks, problem):
    with pytest.raises(Corrupt, match=rf"a\.parquet: the {problem} is another than that of the row groups"):
        check_blocks(file(whole, *blocks), SCHEMA)


def test_rows_that_are_no_sum_are_corrupt():
    wrong = file(known(1, 2), known(1, 2))
    wrong.num_rows = 11
    with pytest.raises(Corrupt, match=r"number of rows is another .*\(expected 10, found 11\)"):
        check_blocks(wrong, SCHEMA)


def test_what_footers_say_of_a_file_is_the_union_of_its_row_groups():
    schema = with_ids(Schema({"id": "long", "name": "string", "price": "decimal(9, 2)", "score": "double"}), 1, first=1)
    rows = pyarrow.table(
        {
            "id": pyarrow.array([300, 2, -1, None, None, None, 7], pyarrow.int64()),
            "name": ["b" * 40, "", "z\U0010ffff", None, "ä" * 20, "c", "\uffff" * 20],
            "price": [Decimal("1.00"), Decimal("-0.01"), None, Decimal("127.00"), Decimal("1.28"), None, None],
            "score": [math.nan, 1.0, -0.0, math.inf, math.nan, math.nan, None],
        },
        pyarrow.schema(
            {
                "id": pyarrow.int64(),
                "name": pyarrow.string(),
                "price": pyarrow.decimal128(9, 2),
                "score": pyarrow.float64(),
            }
        ),
    )
    for size in (1, 2, 3):
        written = io.BytesIO()
        pyarrow.parquet.write_table(rows, written, row_group_size=size)
        found = data_file(pyarrow.parquet.read_metadata(written), schema, path="a.parquet", size=1)
        assert len(found.blocks) == -(-7 // size)
        check_blocks(found, schema)
        lost = DataFileRef()
        lost.CopyFrom(found)
        lost.statistics[0].upper = encode_bound(LONG, 7)
        with pytest.raises(Corrupt, match="upper bound of column 1"):
            check_blocks(lost, schema)
