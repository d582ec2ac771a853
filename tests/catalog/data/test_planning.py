"""Plans: which files and row groups are left, whether a checkpoint has them or deltas; MO-12, MO-14, law 6."""

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.catalog.data.planning import plan
from lakebed.catalog.tables.tables import table_state
from lakebed.files import LocalFiles
from lakebed.table.entries import parts
from lakebed.table.filter.bind import bind
from lakebed.table.plan.plan import BLOOM_FILTERS, PARTITIONS, RANGES, ROW_GROUPS, ZONE_MAPS

FILES = {"write.inline-bytes": "0", "checkpoint.deltas": "0", "checkpoint.bytes": "0"}


def numbers(*ids, region="eu"):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "region": [region] * len(ids)})


def planned(table, where=None):
    work = table._scope.read()
    state = table_state(work, table.id)
    return plan(work, state, None if where is None else bind(where, state.schema))


def summary(found):
    files = [(one.file.path, one.row_groups, one.residual) for one in found.files]
    return (
        files,
        found.total_files,
        {step: (cut.files, cut.row_groups) for step, cut in found.cuts.items() if step != RANGES},
    )


@pytest.fixture
def table(main):
    return main.create_table("t", {"id": "long", "region": "string"}, partition_by=["region"], properties=FILES)


WHERES = [None, "id = 7", "id > 3 and region = 'us'", "region in ('eu', 'asia')", "id < 0", "region is null or id = 2"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "delete", "checkpoint", "compact", "truncate"]),
        st.integers(0, 9),
        st.sampled_from(["eu", "us", None]),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_a_checkpoint_changes_no_plan_and_no_row(main, steps):
    """Two tables with the same history, of which one has checkpoints of tiny parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_FILES", 2)
        number = sum(1 for _ in main.tables())
        pair = [
            main.create_table(
                f"{name}{number}", {"id": "long", "region": "string"}, partition_by=["region"], properties=FILES
            )
            for name in ("plain", "pointed")
        ]
        for what, pick, region in steps:
            for one in pair:
                if what == "append":
                    one.append(numbers(pick, pick + 1, region=region))
                elif what == "delete":
                    one.delete(f"id = {pick}")
                elif what == "compact":
                    one.compact()
                elif what == "truncate":
                    one.truncate()
            if what == "checkpoint":
                pair[1].checkpoint()
        for where in WHERES:
            plain, pointed = (planned(one, where) for one in pair)
            assert len(plain.files) == len(pointed.files)
            assert plain.total_files == pointed.total_files
            assert cut_files(plain) == cut_files(pointed) == (plain.total_files - len(plain.files) if where else 0)
            rows = [one.scan(where).to_arrow().to_pylist() for one in pair]
            assert rows[0] == rows[1]


def cut_files(found):
    return sum(cut.files for cut in found.cuts.values())


def test_the_same_snapshot_and_filter_give_the_same_plan(table):
    for number in range(6):
        table.append(numbers(number, region="us" if number % 2 else "eu"))
    before = summary(planned(table, "id > 2"))
    assert summary(planned(table, "id > 2")) == before
    table.checkpoint()
    assert summary(planned(table, "id > 2"))[:2] == before[:2]


def test_each_step_says_what_it_cut(main):
    table = main.create_table(
        "t",
        {"id": "long", "name": "string", "region": "string"},
        partition_by=["region"],
        properties={**FILES, "write.row-group-rows": "10", "write.bloom.columns": "name"},
    )
    rows = {"id": list(range(100)), "name": [f"n{number * 37 % 100}" for number in range(100)]}
    table.append(pyarrow.table({**rows, "region": ["eu"] * 100}))
    table.append(pyarrow.table({"id": [1000], "name": ["z"], "region": ["eu"]}))
    table.append(pyarrow.table({"id": [1], "name": ["n1"], "region": ["us"]}))
    found = planned(table, "region = 'eu' and name = 'n1' and id < 500")
    assert (found.total_files, len(found.files)) == (3, 1)
    assert found.cuts[PARTITIONS].files == 1
    assert found.cuts[ZONE_MAPS].files == 1
    assert found.cuts[BLOOM_FILTERS].row_groups == 10 - found.cuts[ROW_GROUPS].row_groups - found.row_groups
    assert found.row_groups <= 2
    text = table.scan("region = 'eu' and name = 'n1' and id < 500").explain()
    assert "partitions: cut 1 file" in text
    assert "reads 1 of 3 files" in text
    assert table.scan("region = 'eu' and name = 'n1' and id < 500").count() == 1


def test_a_point_in_a_sorted_table_of_a_thousand_row_groups_reads_two_at_most(main):
    """MO-12."""
    table = main.create_table("t", {"id": "long"}, properties={**FILES, "write.row-group-rows": "10"})
    table.append(pyarrow.table({"id": pyarrow.array(range(10_000), pyarrow.int64())}))
    found = planned(table, "id = 4321")
    assert (found.total_row_groups, found.row_groups) == (1000, 1)
    assert table.scan("id = 4321").to_arrow()["id"].to_pylist() == [4321]


def test_no_bloom_filter_is_read_where_zone_maps_decide_and_no_data_where_both_exclude(main, monkeypatch):
    """MO-14."""
    properties = {**FILES, "write.bloom.columns": "name"}
    table = main.create_table("t", {"id": "long", "name": "string"}, properties=properties)
    table.append(pyarrow.table({"id": list(range(100)), "name": [f"n{number}" for number in range(100)]}))
    reads = []
    real = LocalFiles.read

    def counted(self, path, start=0, length=None):
        reads.append(path)
        return real(self, path, start, length)

    monkeypatch.setattr(LocalFiles, "read", counted)
    assert planned(table, "id = 500 and name = 'n5'").files == ()
    assert len(reads) == 0, "the zone map of id excludes the file"
    assert planned(table, "name = 'n1234567'").files == ()
    assert len(reads) == 1, "one filter, and no data"
    assert table.scan("name = 'n1234567'").to_arrow().num_rows == 0
    assert len(reads) == 1, "a filter is remembered"


def test_a_file_of_another_spec_is_planned_by_its_own(main, table):
    table.append(numbers(1, region="eu"))
    with table.evolve() as change:
        change.partition_by(["bucket(4, id)"])
    table.append(numbers(2, region="us"))
    table.checkpoint()
    found = planned(table, "region = 'us'")
    assert [cut.files for step, cut in found.cuts.items() if step in (RANGES, PARTITIONS, ZONE_MAPS)].count(1) == 1
    assert len(found.files) == 1
    assert table.scan("id = 2 and region = 'us'").count() == 1


def test_what_a_partition_makes_certain_is_not_tested_again(table):
    table.append(numbers(1, 2, region="eu"))
    [one] = planned(table, "region = 'eu' and id = 1").files
    assert "region" not in {leaf.field.name for leaf in [one.residual]}
    assert table.scan("region = 'eu' and id = 1").count() == 1
