"""Compaction on Spark: fewer files, the same rows with the same lineage at every version, for both engines."""

import tempfile
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.catalog.data.compaction import PATIENCE
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.lake.engines import spark_engine
from lakebed.spark.compaction import set_last_updated_bounds
from lakebed.table.keys.encoding import encode_key, key_types
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from tests.support.compacted_tables import after_making
from tests.support.examples import examples
from tests.support.sequences import check_bounds

LINEAGE = ["_row_id", "_last_updated_sequence_number"]
IN_FILES = {"write.inline-bytes": "0"}


@pytest.fixture
def main(tmp_path):
    with lakebed.connect(tmp_path / "a lake, 100%") as lake:
        yield lake.catalog()


@pytest.fixture
def table(main):
    return main.create_table("t", {"id": "long", "name": "string"}, properties=IN_FILES)


def ids(first, last, step=1):
    numbers = range(first, last, step)
    return pyarrow.table({"id": numbers, "name": [f"n{one}" for one in numbers]})


def rows(table):
    """All rows with their lineage, in no order, by the local engine."""
    found = table.scan(columns=[*table.schema.names, *LINEAGE]).to_arrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def by_spark(spark, table):
    found = table.read(spark, columns=[*table.schema.names, *LINEAGE]).toArrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def stored(table, file):
    return pyarrow.parquet.read_table(table._scope.context.files.location(file.path))


def parquet(table):
    files = table._scope.context.files
    return {one.path for one in files.list(f"{table._state.data_folder}/") if one.path.endswith(".parquet")}


def test_small_files_inline_rows_and_deleted_ones_become_one_file_and_no_row_changes(spark, main):
    table = main.create_table("t", {"id": "long", "name": "string"})
    table.append(ids(0, 10))
    table.set_properties(IN_FILES)
    for first in (10, 20, 30):
        table.append(ids(first, first + 10))
    table.delete("id in (3, 14, 25)")
    table.update({"name": "'changed'"}, "id in (15, 35)")
    versions = {one.version: rows(table.at(version=one.version)) for one in table.history()}
    inputs = entries(table)
    commit = table.compact(spark, message="tidy")
    [file] = entries(table)
    assert (file.num_rows, file.HasField("dv_path"), file.level) == (37, False, 0)
    assert all(rows(table.at(version=one)) == found for one, found in versions.items())
    assert by_spark(spark, table) == rows(table) == versions[max(versions)]
    [known] = [one for one in file.statistics if one.field_id == 2147483539]
    numbers = [row[3] for row in rows(table)]
    assert [int.from_bytes(one, "little") for one in (known.lower, known.upper)] == [min(numbers), max(numbers)]
    before = f"{len(inputs)} files, {sum(one.file_size for one in inputs):,} bytes, 5 deleted rows"
    assert commit.operations[0].detail == f"{before} -> 1 file, {file.file_size:,} bytes"
    assert table.compact(spark) is None


def test_neighbours_are_packed_together_to_the_size_that_is_asked_for(spark, table):
    for first in range(0, 800, 100):
        table.append(ids(first, first + 100))
    before = rows(table)
    each = entries(table)[0].file_size
    table.compact(spark, target_bytes=each * 4)
    assert [one.num_rows for one in entries(table)] == [400, 400]
    assert [sorted(stored(table, one)["id"].to_pylist()) for one in entries(table)] == [
        [*range(400)],
        [*range(400, 800)],
    ]
    assert rows(table) == before


def test_a_tables_levels_have_files_without_a_common_key_and_exact_bounds(spark, main):
    keyed = main.create_table("k", {"id": "long", "name": "string"}, primary_key=["id"], properties=IN_FILES)
    for first in range(4):
        keyed.append(ids(first, 2000, 4))
    keyed.append(ids(500, 510))  # keys that come twice
    before, newest = rows(keyed), keyed.get(505)
    keyed.compact(spark, target_bytes=sum(one.file_size for one in entries(keyed)) // 3)
    files = sorted(entries(keyed), key=lambda one: one.key_min)
    assert len(files) == 3
    assert all(one.key_max < other.key_min for one, other in pairwise(files))
    for one in files:
        found = stored(keyed, one)["id"].to_pylist()
        assert found == sorted(found)
        assert (one.level, one.key_schema_id) == (1, keyed.schema.id)
        types = key_types(keyed.schema)
        assert [one.key_min, one.key_max] == [encode_key(types, [end]) for end in (found[0], found[-1])]
    assert rows(keyed) == before
    assert keyed.get(505) == newest
    keyed.append(ids(3000, 3001))
    keyed.compact()  # the local engine goes on from there
    assert len(rows(keyed)) == len(before) + 1
    assert all(one.level == 1 for one in entries(keyed))


def test_keys_of_several_columns_are_exact_however_long(spark, main):
    schema = {"day": "date", "name": "string", "at": "timestamptz", "in": "struct<side: long>"}
    table = main.create_table("k", schema, primary_key=["name", "day", "at", "in.side"], properties=IN_FILES)
    long = "x" * 40
    for place in range(2):
        table.append(
            pyarrow.table(
                {
                    "day": [date(1950, 1, 2 + place), date(2024, 1, 1)],
                    "name": [f"{long}{2 - place}", f"{long}{place + 3}"],
                    "at": [datetime(1960, 1, 1, place, tzinfo=UTC)] * 2,
                    "in": [{"side": place}, {"side": -place}],
                }
            )
        )
    before = rows(table)
    table.compact(spark)
    by_this_engine = [(one.key_min, one.key_max) for one in entries(table)]
    assert rows(table) == before
    table.delete("in.side = 100")
    other = main.create_table("o", schema, primary_key=["name", "day", "at", "in.side"], properties=IN_FILES)
    for row in table.scan().to_arrow().to_pylist():
        other.append(pyarrow.Table.from_pylist([row], table.scan().to_arrow().schema))
    other.compact()
    assert [(one.key_min, one.key_max) for one in entries(other)] == by_this_engine


def test_partitions_stay_apart(spark, main):
    table = main.create_table(
        "t", {"id": "long", "name": "string"}, partition_by=["truncate(10, id)"], properties=IN_FILES
    )
    for first in (0, 5, 10, 15):
        table.append(ids(first, first + 5))
    before = rows(table)
    partitions = {one.partition[0].value for one in entries(table)}
    table.compact(spark)
    assert {one.partition[0].value for one in entries(table)} == partitions
    assert [one.num_rows for one in entries(table)] == [10, 10]
    assert rows(table) == before
    assert sorted(one[0] for one in by_spark(spark, table)) == [*range(20)]
    assert table.scan("id = 12").count() == 1


def test_files_of_an_older_spec_are_written_by_the_newest(spark, table):
    for first in (0, 10):
        table.append(ids(first, first + 10))
    with table.evolve() as change:
        change.partition_by(["bucket(3, id)"])
    before = rows(table)
    table.compact(spark)
    assert {one.spec_id for one in entries(table)} == {table._state.spec.id}
    assert rows(table) == before
    assert table.compact() is None


def test_sorted_files_have_ranges_apart(spark, table):
    for first in range(4):
        table.append(ids(first, 2000, 4))
    before = rows(table)
    table.compact(spark, sort_by=["name desc"], target_bytes=sum(one.file_size for one in entries(table)) // 3)
    files = entries(table)
    assert len(files) >= 3
    found = sorted((stored(table, one)["name"].to_pylist() for one in files), reverse=True)
    assert [name for one in found for name in one] == sorted((row[1] for row in before), reverse=True)
    assert rows(table) == before


def test_rows_that_the_order_leaves_equal_need_not_be_in_one_file(spark, table):
    for first in range(4):
        table.append(pyarrow.table({"id": range(first, 2000, 4), "name": ["a"] * 500}))
    table.compact(
        spark,
        sort_by=["bucket(1, name)", "truncate(1, name)"],
        target_bytes=sum(one.file_size for one in entries(table)) // 3,
    )
    assert max(one.num_rows for one in entries(table)) < 1500


class TestOthersMeanwhile:
    @pytest.fixture
    def parted(self, main):
        """Two groups: ids from 0 on, and from 100 on."""
        table = main.create_table(
            "t", {"id": "long", "name": "string"}, partition_by=["truncate(100, id)"], properties=IN_FILES
        )
        for first in (0, 10, 100, 110):
            table.append(ids(first, first + 10))
        return table

    def test_appends_are_no_conflict(self, spark, parted, monkeypatch):
        changes = after_making(monkeypatch, lambda _: parted.append(ids(20, 30)))
        parted.compact(spark)
        assert len(changes) == 1
        assert sorted(row[0] for row in rows(parted)) == [*range(30), *range(100, 120)]

    def test_rows_that_are_deleted_stay_so_and_only_their_group_is_written_again(self, spark, parted, monkeypatch):
        before = {row[0]: row for row in rows(parted)}
        changes = after_making(monkeypatch, lambda attempt: parted.delete("id = 7") if attempt == 1 else None)
        parted.compact(spark)
        first, second = ({one.path for one in change.written.files} for change in changes)
        assert len(first & second) == 1
        del before[7]
        assert by_spark(spark, parted) == rows(parted) == sorted(before.values(), key=repr)
        assert parquet(parted) == {one.path for one in entries(parted)} | {
            path for change in changes for one in change.rewrites for path in one.inputs
        }

    def test_a_group_that_others_keep_changing_is_left_and_the_other_is_committed(self, spark, parted, monkeypatch):
        before = {row[0]: row for row in rows(parted)}
        after_making(monkeypatch, lambda attempt: parted.delete(f"id = {attempt}") if attempt <= PATIENCE else None)
        commit = parted.compact(spark)
        assert "left alone: 1 group" in commit.operations[0].detail
        assert rows(parted) == sorted((before[one] for one in before if one not in (1, 2, 3)), key=repr)
        assert sorted(one.num_rows for one in entries(parted)) == [10, 10, 20]

    def test_a_group_that_can_not_be_read_leaves_nothing_of_the_others(self, spark, parted):
        before = parquet(parted)
        place = Path(parted._scope.context.files.location(entries(parted)[0].path))
        whole = place.read_bytes()
        place.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(Corrupt):
            parted.compact(spark)
        place.write_bytes(whole)
        assert parquet(parted) == before
        assert parted.compact(spark) is not None

    def test_jobs_of_all_groups_have_the_tags_of_whoever_asked(self, spark, parted):
        context = spark.sparkContext
        context.addJobTag("of-the-caller")
        try:
            parted.compact(spark)
        finally:
            context.removeJobTag("of-the-caller")
        assert len(context._jsc.sc().statusTracker().getJobIdsForTag("of-the-caller")) >= 2


def test_files_are_written_again_with_the_lineage_of_their_rows(spark, table):
    for first in (0, 10):
        table.append(ids(first, first + 10))
    table.delete("id in (3, 14)")
    table.update({"name": "'x'"}, "id = 5")
    before = rows(table)
    work = table._scope.read()
    target = target_of(work, table_state(work, table.id))
    made = spark_engine(spark).rewrite(target, entries(table))
    found = [tuple(one.values()) for file in made for one in stored(table, file).to_pylist()]
    assert sorted(found, key=repr) == before


def test_what_is_no_session_is_refused(table):
    for first in (0, 10):
        table.append(ids(first, first + 10))
    with pytest.raises(Invalid, match="not a Spark session"):
        table.compact("spark")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 40)),
        st.tuples(st.just("delete"), st.integers(0, 40)),
        st.tuples(st.just("update"), st.integers(0, 40)),
        st.tuples(st.just("compact"), st.booleans()),
        st.tuples(st.just("compact by Spark"), st.sampled_from([None, 1000, 3000])),
    ),
    min_size=3,
    max_size=7,
)
LAYOUTS = [{}, {"primary_key": ["id"]}, {"partition_by": ["truncate(16, id)"]}, {"sort_by": ["name desc"]}]


def step(spark, table, kind, value):
    if kind == "append":
        table.append(ids(value, value + 12))
    elif kind == "delete":
        table.delete(f"id between {value} and {value + 3}")
    elif kind == "update":
        table.update({"name": "concat(name, '+')"}, f"id between {value} and {value + 5}")
    elif kind == "compact":
        table.compact(**{"sort_by": ["id"]} if value else {})
    else:
        table.compact(spark, target_bytes=value)


@settings(max_examples=examples(3, 12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, layout=st.sampled_from(LAYOUTS), inline=st.sampled_from(["0", "2000"]))
def test_no_compaction_of_either_engine_changes_a_row_at_any_version(spark, steps, layout, inline):
    """Law 6: rows, their ids and the sequence numbers of their last changes."""
    with tempfile.TemporaryDirectory() as folder, lakebed.connect(folder) as lake:
        properties = {"write.inline-bytes": inline}
        table = lake.catalog().create_table("t", {"id": "long", "name": "string"}, properties=properties, **layout)
        seen = {}
        for kind, value in [("append", 0), ("append", 20), *steps, ("delete", 5), ("compact by Spark", None)]:
            before = rows(table)
            step(spark, table, kind, value)
            if kind.startswith("compact"):
                assert rows(table) == before
            seen[table.version] = rows(table)
        assert by_spark(spark, table) == seen[table.version]
        check_bounds(table)
        assert all(rows(table.at(version=one)) == found for one, found in seen.items())
        for key in range(0, 60, 7) if "primary_key" in layout else ():
            newest = max((row for row in rows(table) if row[0] == key), key=lambda row: row[3], default=None)
            assert (table.get(key) or {}).get("name") == (newest and newest[1])


def test_rows_that_were_new_were_told_to_be_as_old_as_the_others_of_their_file(tmp_path: Path):
    files = LocalFiles(tmp_path)
    pa.parquet.write_table(pa.table({"id": [1, 2], "changed": [5, None]}), tmp_path / "a.parquet")
    entry = DataFileRef(path="a.parquet", num_rows=2, file_size=files.size("a.parquet"))
    set_last_updated_bounds(files, entry)
    assert not entry.statistics
    assert (entry.seq_min, entry.seq_max) == (5, 0)  # the upper end is that of the commit
