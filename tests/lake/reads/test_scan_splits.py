"""Splits of a scan: read one after the other they are the scan, whoever cut it."""

import pickle
import random
import subprocess
import sys

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.errors import Invalid

FORM = {"id": "long", "name": "string", "region": "string"}
SMALL = {"write.inline-bytes": "0", "write.row-group-rows": "4", "write.bloom.columns": "name"}
EVERY = [*FORM, "_file", "_pos", "_row_id"]


def rows(start, count):
    ids = list(range(start, start + count))
    regions = [(None, "eu", "us")[number % 3] for number in ids]
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "name": map(str, ids), "region": regions})


def fill(table, parts, deletion):
    """Appends of these many rows, the small ones inline, and deletes of rows by id."""
    start = 0
    for count, is_inline in parts:
        table.set_properties({"write.inline-bytes": "64000" if is_inline else "0"})
        table.append(rows(start, count))
        start += count
    for number in deletion:
        table.delete(f"id = {number}")


def together(scan, found):
    """The rows of all splits; tables without columns lose theirs when they are joined, batches don't."""
    batches = [batch for one in found for batch in scan.of(one).to_batches()]
    return pyarrow.Table.from_batches(batches, scan.to_batches().schema)


WHERES = [None, "true", "id < 9", "id between 5 and 40 and region = 'eu'", "name = '17'", "region is null or id = 4"]
COLUMNS = st.none() | st.lists(st.sampled_from(EVERY), unique=True)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.tuples(st.integers(1, 25), st.booleans()), max_size=5),
    deletion=st.lists(st.integers(0, 50), max_size=4),
    where=st.sampled_from(WHERES),
    columns=COLUMNS,
    target=st.integers(1, 6000),
    is_partitioned=st.booleans(),
)
def test_the_splits_of_a_scan_have_its_rows_in_its_order(main, parts, deletion, where, columns, target, is_partitioned):
    name = f"t{sum(1 for _ in main.tables())}"
    table = main.create_table(name, FORM, partition_by=["region"] if is_partitioned else (), properties=SMALL)
    fill(table, parts, deletion)
    scan = table.scan(where, columns)
    found = scan.splits(target)
    assert together(scan, found).equals(scan.to_arrow())
    assert sum(scan.of(one).count() for one in found) == scan.count()
    assert all(scan.of(one).schema == scan.schema for one in found)


@pytest.fixture
def table(main):
    table = main.create_table("t", FORM, partition_by=["region"], properties=SMALL)
    fill(table, [(25, False), (3, True), (25, False)], [7, 8, 30])
    return table


@pytest.mark.parametrize("where", WHERES)
def test_a_checkpoint_changes_no_split(table, where):
    before = table.scan(where).splits(500)
    table.checkpoint()
    assert [one.bytes for one in table.scan(where).splits(500)] == [one.bytes for one in before]
    assert pieces(table.scan(where).splits(500)) == pieces(before)


def pieces(found):
    return [[(one.file.path, one.row_groups, one.residual) for one in split.files] for split in found]


def test_the_splits_of_a_transaction_have_its_own_rows(main, table):
    with main.transaction() as inside:
        own = inside.table("t")
        own.append(rows(100, 9))
        own.delete("id = 12")
        scan = own.scan(columns=EVERY)
        found = scan.splits(300)
        assert len(found) > 5
        assert together(scan, found).equals(scan.to_arrow())


def test_splits_can_be_read_in_any_order_and_after_the_table_has_changed(table):
    scan = table.scan("id > 2", EVERY)
    expected, found = scan.to_arrow(), scan.splits(400)
    table.delete("id < 20")
    table.append(rows(200, 5))
    shuffled = random.Random(5).sample(range(len(found)), len(found))
    read = {place: scan.of(found[place]).to_arrow() for place in shuffled}
    assert pyarrow.concat_tables([read[place] for place in range(len(found))]).equals(expected)


def test_a_split_says_what_it_reads(table):
    scan = table.scan("id < 20")
    found = scan.splits(1)
    assert len(found) == sum(len(one.files) for one in found)
    assert scan.of(found[0]).explain().startswith("reads 1 of 1 file, 1 of 1 row group")
    assert sum(one.rows for one in table.scan().splits(700)) == 53  # the deleted ones too
    assert len(table.scan().splits()) == 1


def test_a_scan_with_a_limit_has_no_splits(table):
    with pytest.raises(Invalid, match="a scan with a limit has no splits"):
        table.scan(limit=5).splits()


WORKER = """
import pickle, sys
import lakebed
with lakebed.connect(sys.argv[1]) as lake:
    table = lake.catalog().table("t")
    scan = table.scan("id < 40", ["id", "_pos"])
    found = scan.splits(400)
    rows = [scan.of(one).to_arrow().to_pylist() for one in found]
sys.stdout.buffer.write(pickle.dumps((found, rows)))
"""


def test_another_process_has_the_same_splits(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        table = lake.catalog().create_table("t", FORM, partition_by=["region"], properties=SMALL)
        fill(table, [(25, False), (3, True), (25, False)], [7, 8, 30])
        scan = table.scan("id < 40", ["id", "_pos"])
        found = scan.splits(400)
        command = [sys.executable, "-c", WORKER, str(tmp_path / "lake")]
        theirs, read = pickle.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert len(found) > 3
        assert theirs == found
        assert [scan.of(one).to_arrow().to_pylist() for one in theirs] == read
