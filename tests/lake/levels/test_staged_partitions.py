"""Staged partitions: filled beside the table, found by their ids alone, swapped in whole by one commit."""

from datetime import date

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import AlreadyExists, Conflict, Forbidden, Invalid, NotFound, event_id
from lakebed.records.layout import Attribute

FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)
COLUMNS = {"id": "long", "v": "string", "dt": "date"}
GIVEN = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def table(main):
    table = main.create_table("t", COLUMNS, partition_by=["dt"])
    table.append([row(1, FIRST), row(2, SECOND)])
    return table


def row(id, day):
    return {"id": id, "v": "row", "dt": day}


def ids(shown, **asked):
    return sorted(shown.scan(**asked).to_arrow()["id"].to_pylist())


def test_a_staged_partition_is_found_by_its_id_and_after_its_commit_by_its_values(table):
    """D12."""
    staged = table.stage_partition({"dt": FIRST}, id=GIVEN)
    assert (staged.id, staged.state, staged.values) == (GIVEN, "staged", {"dt": FIRST})
    with pytest.raises(NotFound):
        table.partition({"dt": FIRST})
    assert [partition.id for partition in table.partitions()] == [table.partition().id]
    again = table.partition(id=GIVEN)
    again.append([{"id": 10}])
    again.commit()
    assert (table.partition({"dt": FIRST}).id, table.partition(GIVEN).state) == (GIVEN, "committed")


def test_nobody_sees_it_before_its_commit_and_other_partitions_stay_as_they_are(table):
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 10}, {"id": 11}])
    staged.append([{"id": 12}])
    staged.delete("id = 11")
    assert (ids(staged), ids(table), staged.count()) == ([10, 12], [1, 2], 2)
    other = table.at(version=table.version)
    untouched = table.partition().files()[1]
    commit = staged.commit(message="rebuilt")
    assert (ids(table), ids(other)) == ([2, 10, 12], [1, 2])
    assert table.partition().files() == [untouched]
    [swap, made] = commit.operations
    assert (swap.type, swap.counts["removed_rows"], swap.counts["added_rows"]) == ("overwrite", 1, 2)
    assert (made.type, made.detail, commit.message) == ("create", "swapped in", "rebuilt")
    assert len(table.snapshots()) == 3  # created, filled, swapped


def test_rows_keep_the_ids_that_they_got_while_staged(table):
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 10}])
    before = staged.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    table.append([row(3, SECOND)])
    staged.commit()
    after = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    assert [one for one in after if one["id"] == 10] == before
    assert len({one["_row_id"] for one in after}) == 3


def test_it_takes_rows_of_its_values_and_files_alone(table, tmp_path):
    staged = table.stage_partition({"dt": FIRST})
    with pytest.raises(Invalid, match="other values"):
        staged.append([row(3, SECOND)])
    pyarrow.parquet.write_table(pyarrow.table({"id": [7]}), tmp_path / "x.parquet")
    staged.add_files(tmp_path / "x.parquet")
    with pytest.raises(AlreadyExists):
        staged.add_files(tmp_path / "x.parquet")
    staged.commit()
    assert ids(table, where="dt = '2026-11-01'") == [7]


def test_files_that_the_table_has_elsewhere_are_not_swapped_in(table, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"id": [7]}), tmp_path / "x.parquet")
    staged = table.stage_partition({"dt": FIRST})
    staged.add_files(tmp_path / "x.parquet")
    table.create_partition({"dt": SECOND}).add_files(tmp_path / "x.parquet")
    with pytest.raises(AlreadyExists, match=r"x\.parquet"):
        staged.commit()


def test_rows_that_came_since_it_was_staged_are_not_lost_unless_that_is_said(table):
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 10}])
    table.append([row(3, SECOND)])  # another partition
    table.compact()  # changes no row
    table.append([row(4, FIRST)])
    with pytest.raises(Conflict, match="changed after it was staged"):
        staged.commit()
    assert ids(table) == [1, 2, 3, 4]
    staged.commit(over_newer=True)
    assert ids(table) == [2, 3, 10]


def test_the_partition_that_it_replaces_is_its_previous_and_can_come_back(table):
    first = table.create_partition({"dt": FIRST})
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 10}])
    staged.commit()
    assert staged.previous == first.id
    with pytest.raises(NotFound):
        first.count()
    table.drop_partition({"dt": FIRST})
    table.undrop_partition({"dt": FIRST})  # the last one: the one before has to be named
    assert table.partition({"dt": FIRST}).id == staged.id
    table.drop_partition({"dt": FIRST})
    table.undrop_partition(id=first.id)
    assert ids(table) == [1, 2]


def test_a_discarded_one_is_gone_until_it_is_undropped(table):
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 10}])
    staged.discard()
    for call in (staged.count, staged.commit, lambda: table.partition(id=staged.id)):
        with pytest.raises(NotFound):
            call()
    table.undrop_partition(id=staged.id)
    assert (staged.state, ids(staged), ids(table)) == ("staged", [10], [1, 2])


def test_calls_on_what_is_shown_are_refused_while_it_is_staged(table, tmp_path):
    staged = table.stage_partition({"dt": FIRST})
    for call in (staged.drop, lambda: staged.rename({"dt": SECOND}), lambda: staged.alter(location=str(tmp_path))):
        with pytest.raises(Invalid, match="staged"):
            call()
    staged.commit()
    for call in (staged.commit, staged.discard):
        with pytest.raises(Invalid, match="not staged"):
            call()


def test_two_staged_ones_of_one_value_are_swapped_in_one_after_the_other(table):
    """The second sees that the first changed its rows."""
    staged = [table.stage_partition({"dt": FIRST}) for _ in range(2)]
    for number, one in enumerate(staged):
        one.append([{"id": 10 + number}])
    staged[0].commit()
    with pytest.raises(Conflict):
        staged[1].commit()
    staged[1].commit(over_newer=True)
    assert (ids(table), staged[1].previous) == ([2, 11], staged[0].id)


def test_primary_keys_stay_single(main):
    table = main.create_table("t", COLUMNS, partition_by=["dt"], primary_key=["id"])
    table.append([row(1, FIRST), row(2, SECOND)])
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 1}, {"id": 2}])
    with pytest.raises(Invalid, match="key"):
        staged.commit()
    staged.delete("id = 2")
    staged.commit()
    assert ids(table) == [1, 2]


def test_a_transaction_stages_fills_and_commits_at_once(main, table):
    with main.transaction("rebuild") as tx:
        staged = tx.table("t").stage_partition({"dt": FIRST})
        staged.append([{"id": 10}])
        staged.commit()
        assert (ids(tx.table("t")), ids(table)) == ([2, 10], [1, 2])
    assert ids(table) == [2, 10]
    assert table.scan(columns=["_row_id"]).to_arrow()["_row_id"].null_count == 0
    kept = table._scope.read().reader.history(staged.id, Attribute.DATA).items
    assert kept == [], "its rows are written once, where they are shown"


def test_what_is_staged_on_a_branch_comes_over_still_staged(main, table):
    dev = main.create_branch("dev")
    staged = dev.table("t").stage_partition({"dt": FIRST})
    staged.append([{"id": 10}])
    main.merge(dev)
    assert (ids(table), ids(table.partition(staged.id))) == ([1, 2], [10])
    staged.append([{"id": 11}])
    staged.commit()
    assert ids(table) == [1, 2]
    main.merge(dev)
    assert (ids(table), table.partition({"dt": FIRST}).id) == ([2, 10, 11], staged.id)


def test_appended_to_here_and_swapped_there_is_a_conflict(main, table):
    dev = main.create_branch("dev")
    staged = dev.table("t").stage_partition({"dt": FIRST})
    staged.commit()
    table.append([row(3, FIRST)])
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    assert [conflict.what for conflict in error.value.conflicts] == ["overwrite"]


def test_a_repeated_commit_is_one(table):
    staged = table.stage_partition({"dt": FIRST}, event_id=event_id("stage"))
    assert table.stage_partition({"dt": FIRST}, event_id=event_id("stage")).id == staged.id
    staged.append([{"id": 10}])
    first = staged.commit(event_id=event_id("commit"))
    assert staged.commit(event_id=event_id("commit")) == first


def test_the_past_shows_what_was_staged_and_can_t_commit_it(table):
    staged = table.stage_partition({"dt": FIRST})
    staged.append([{"id": 10}])
    then = table._scope.read().base
    staged.commit()
    past = table.at(version=then).partition(id=staged.id)
    assert (past.state, ids(past)) == ("staged", [10])
    with pytest.raises(Forbidden):
        past.commit()


def test_its_files_are_referred_to_and_a_purge_takes_them(lake, main, files):
    table = main.create_table("t", COLUMNS, partition_by=["dt"], properties={"write.inline-bytes": "0"})
    table.stage_partition({"dt": FIRST}).append([{"id": 1}])
    assert (lake.check(), len(files())) == ([], 1)
    main.drop_table("t")
    main.purge_table("t")
    assert (lake.check(), files()) == ([], {})
