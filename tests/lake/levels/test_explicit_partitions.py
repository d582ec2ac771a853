"""Explicit partitions: rows with their values, registered folders, drop and undrop, branches, merges, time travel."""

import json
from datetime import date

import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from lakebed import AlreadyExists, Ambiguous, Conflict, Forbidden, Invalid, NotFound, event_id

FIRST, SECOND, THIRD = (date(2026, 11, day) for day in (1, 2, 3))
COLUMNS = {"id": "long", "v": "string", "dt": "date"}


@pytest.fixture
def table(main):
    main.create_namespace("s")
    return main.create_table("s.t", COLUMNS, partition_by=["dt"])


@pytest.fixture
def hive(tmp_path):
    """Folders as Hive has them: a file with two rows for each of two days, without the column of the day."""
    for day in (FIRST, SECOND):
        folder = tmp_path / "hive" / f"dt={day}"
        folder.mkdir(parents=True)
        write(folder / "a.parquet", day.day * 10, day.day * 10 + 1)
    return tmp_path / "hive"


def write(path, *ids, **more):
    columns = {"id": pyarrow.array(ids, pyarrow.int64()), "v": [f"file {one}" for one in ids]}
    pyarrow.parquet.write_table(pyarrow.table({**columns, **more}), path)


def row(id, day, v="row"):
    return {"id": id, "v": v, "dt": day}


def ids(shown, **asked):
    return sorted(shown.scan(**asked).to_arrow()["id"].to_pylist())


def days(shown):
    return sorted({one["dt"] for one in shown.scan().to_arrow().to_pylist()})


def listed(table):
    """The values, and the number of rows, of each partition."""
    return [(partition.values.get("dt"), partition.count()) for partition in table.partitions()]


def parts(catalog):
    """What `__partitions` shows: values, state, files, rows."""
    found = catalog.inspect("__partitions").to_pylist()
    return [(json.loads(one["partition_values"]).get("dt"), one["state"], one["files"], one["rows"]) for one in found]


# Registering folders


def test_a_hive_table_is_registered_partition_by_partition_in_place(table, hive, files):
    first = table.create_partition({"dt": "2026-11-01"}, location=str(hive / "dt=2026-11-01"))
    second = table.create_partition({"dt": SECOND}, location=f"file://{hive}/dt=2026-11-02")
    assert ids(table) == [10, 11, 20, 21]
    assert ids(table, where="dt = '2026-11-02'") == ids(second) == [20, 21]
    assert (first.values, first.state, first.format, first.count()) == ({"dt": FIRST}, "committed", "parquet", 2)
    assert first.location == str(hive / "dt=2026-11-01")
    assert [path.rpartition("/")[2] for path in first.files()] == ["a.parquet"]
    assert files() == {}  # nothing was written
    assert listed(table) == [(None, 0), (FIRST, 2), (SECOND, 2)]


def test_the_values_are_those_of_the_call_whatever_the_folder_is_called(table, tmp_path):
    folder = tmp_path / "dt=1999-01-01"
    folder.mkdir()
    write(folder / "x.parquet", 1)
    assert days(table.create_partition({"dt": FIRST}, location=str(folder))) == [FIRST]


def test_a_folder_below_the_location_that_says_another_value_is_refused(table, hive):
    with pytest.raises(Invalid, match="the folder says 2026-11-02, the partition 2026-11-01"):
        table.create_partition({"dt": FIRST}, location=str(hive))
    assert listed(table) == [(None, 0)]


def test_a_file_that_has_the_column_must_have_the_partition_s_value(table, tmp_path):
    write(tmp_path / "same.parquet", 1, dt=[FIRST])
    write(tmp_path / "other.parquet", 2, dt=[SECOND])
    partition = table.create_partition({"dt": FIRST})
    partition.add_files(tmp_path / "same.parquet")
    with pytest.raises(Invalid, match="the partition says 2026-11-01, the file 2026-11-02"):
        partition.add_files(tmp_path / "other.parquet")
    assert ids(partition) == [1]


def test_new_files_at_the_location_are_added_when_asked(table, hive):
    partition = table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
    write(hive / "dt=2026-11-01" / "b.parquet", 12)
    assert ids(partition) == [10, 11]
    partition.add_files()
    assert ids(partition) == [10, 11, 12]
    before = table.version
    partition.add_files()
    assert table.version == before


CHANGES = {
    "compact": lambda table, partition: (table.append([row(1, FIRST)]), table.compact()),
    "copy on write": lambda table, partition: table.update({"v": "'new'"}, "id = 10"),
    "overwrite": lambda table, partition: partition.overwrite([{"id": 1}]),
    "delete": lambda table, partition: partition.delete(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_files_that_were_added_once_do_not_come_back_with_the_new_ones_of_the_location(main, table, hive, change):
    table.set_properties({"write.row-changes": "copy-on-write"})
    dev = main.create_branch("dev")
    folder = hive / "dt=2026-11-01"
    partition = table.create_partition({"dt": FIRST}, location=str(folder))
    change(table, partition)
    dev.merge(main)  # which brings the partition without the file
    assert not any(path.endswith("/a.parquet") for path in partition.files())
    for changed in (table, dev.table("s.t")):
        before = ids(changed)
        again = changed.partition({"dt": FIRST})
        again.add_files()
        assert ids(changed) == before
    write(folder / "b.parquet", 12)
    partition.add_files()
    assert ids(table) == sorted([*before, 12])


def test_a_file_that_the_table_had_is_added_again_if_it_is_named(table, hive):
    partition = table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
    partition.delete()
    partition.add_files(hive / "dt=2026-11-01" / "a.parquet")
    assert ids(partition) == [10, 11]


def test_a_transaction_that_registers_a_folder_finds_no_new_files_in_it(main, table, hive):
    with main.transaction("load") as tx:
        partition = tx.table("s.t").create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
        partition.add_files()
    assert ids(table) == [10, 11]


def test_an_empty_folder_makes_an_empty_partition_and_a_missing_one_is_refused(table, tmp_path):
    (tmp_path / "empty").mkdir()
    assert table.create_partition({"dt": FIRST}, location=str(tmp_path / "empty")).count() == 0
    with pytest.raises(NotFound, match="no such folder"):
        table.create_partition({"dt": SECOND}, location=str(tmp_path / "nowhere"))
    write(tmp_path / "x.parquet", 1)
    with pytest.raises(Invalid, match="is a folder"):
        table.create_partition({"dt": SECOND}, location=str(tmp_path / "x.parquet"))
    with pytest.raises(Invalid, match="another format"):
        table.create_partition({"dt": SECOND}, format="orc")


def test_files_that_the_table_has_are_not_registered_twice(table, hive):
    place = str(hive / "dt=2026-11-01")
    table.create_partition({"dt": FIRST}, location=place)
    with pytest.raises(AlreadyExists):
        table.create_partition({"dt": SECOND}, location=place)


# Membership


def test_rows_with_its_values_are_in_it_whoever_writes_them(table):
    table.append([row(1, FIRST), row(2, SECOND)])
    partition = table.create_partition({"dt": FIRST})
    assert ids(partition) == [1]
    table.append([row(3, FIRST), row(4, THIRD)])
    assert ids(partition) == [1, 3]
    table.update({"dt": lakebed.lit(FIRST)}, "id = 2")
    assert ids(partition) == [1, 2, 3]
    table.update({"dt": lakebed.lit(SECOND)}, "id = 1")
    assert listed(table) == [(None, 2), (FIRST, 2)]
    assert ids(table.partition()) == [1, 4]


def test_appended_rows_get_its_values_and_rows_with_others_are_refused(table, files):
    partition = table.create_partition({"dt": FIRST})
    partition.append([{"id": 1, "v": "x"}])
    partition.append(pyarrow.table({"id": [2], "dt": pyarrow.array([FIRST])}))
    partition.append([{"id": "3", "v": "cast"}], cast=True)
    with pytest.raises(Invalid, match=r"other values than the partition.*dt=2026-11-02"):
        partition.append([row(4, SECOND)])
    assert (ids(partition), days(table)) == ([1, 2, 3], [FIRST])
    assert files() == {}


def test_a_refused_append_leaves_no_file(main, files):
    table = main.create_table("t", COLUMNS, partition_by=["dt"], properties={"write.inline-bytes": "0"})
    with pytest.raises(Invalid):
        table.create_partition({"dt": FIRST}).append([row(4, SECOND)])
    assert files() == {}


def test_overwriting_and_deleting_touch_no_other_partition(table):
    table.append([row(1, FIRST), row(2, SECOND)])
    partition = table.create_partition({"dt": FIRST})
    partition.overwrite([{"id": 5, "v": "new"}, {"id": 6, "v": "new"}])
    assert ids(table) == [2, 5, 6]
    partition.delete("id = 5")
    assert ids(table) == [2, 6]
    partition.delete()
    assert (ids(table), listed(table)) == ([2], [(None, 1), (FIRST, 0)])


def test_compaction_does_not_mix_partitions(main):
    table = main.create_table("t", COLUMNS, partition_by=["dt"], properties={"write.inline-bytes": "0"})
    for day in (FIRST, SECOND):
        table.create_partition({"dt": day})
    for number in range(3):
        table.append([row(number, FIRST), row(10 + number, SECOND), row(20 + number, THIRD)])
    table.compact()
    assert [len(partition.files()) for partition in table.partitions()] == [1, 1, 1]
    assert listed(table) == [(None, 3), (FIRST, 3), (SECOND, 3)]


def test_a_plan_of_a_partition_s_rows_opens_no_other_file(table, hive):
    for day in (FIRST, SECOND):
        table.create_partition({"dt": day}, location=str(hive / f"dt={day}"))
    assert len(table.scan(where="dt = '2026-11-01'")._plan.files) == 1


def test_null_is_a_value_too(table):
    table.append([row(1, None), row(2, FIRST)])
    partition = table.create_partition({"dt": None})
    assert (partition.values, ids(partition), ids(table.partition())) == ({"dt": None}, [1], [2])


def test_a_text_that_can_not_be_encoded_is_refused_as_the_value_of_bytes(main):
    table = main.create_table("u", {"id": "long", "b": "binary"}, partition_by=["b"])
    with pytest.raises(Invalid, match="b: a partition's value does not fit its column"):
        table.create_partition({"b": "\ud800"})


def test_rows_in_files_of_an_older_spec_have_to_be_rewritten_first(main):
    table = main.create_table("t", COLUMNS)
    table.append([row(1, FIRST), row(2, SECOND)])
    with table.evolve() as change:
        change.partition_by(["dt"])
    with pytest.raises(Invalid, match="older partition spec"):
        table.create_partition({"dt": FIRST})
    table.create_partition({"dt": THIRD})
    table.compact()
    assert ids(table.create_partition({"dt": FIRST})) == [1]


def test_a_spec_without_the_columns_of_partitions_is_refused(table):
    table.create_partition({"dt": FIRST})
    with pytest.raises(Invalid, match="has explicit partitions"), table.evolve() as change:
        change.partition_by(["month(dt)"])
    with table.evolve() as change:
        change.partition_by(["dt", "bucket(2, id)"])
        change.rename_column("dt", "day")
    table.partition({"day": FIRST}).append([{"id": 1}])
    table.drop_partition({"day": FIRST})
    with table.evolve() as change:
        change.partition_by(["month(day)"])


# Ids, names, properties


def test_ids_that_callers_give_are_kept(table):
    given = "11111111-2222-4333-8444-555555555555"
    partition = table.create_partition({"dt": FIRST}, id=given, properties={"source": "hive"})
    assert (partition.id, table.partition(id=given).values, table.partition(given).id) == (given, {"dt": FIRST}, given)
    assert partition.properties == {"source": "hive"}
    with pytest.raises(AlreadyExists, match="has this id"):
        table.create_partition({"dt": SECOND}, id=given)
    with pytest.raises(Invalid, match="not an id"):
        table.create_partition({"dt": SECOND}, id="one")
    assert table.partition().id != table.create_partition({"dt": SECOND}).id


def test_one_explicit_partition_has_the_values(table):
    first = table.create_partition({"dt": FIRST})
    with pytest.raises(AlreadyExists, match="explicit partition with these values"):
        table.create_partition({"dt": "2026-11-01"})
    assert table.create_partition({"dt": FIRST}, if_not_exists=True).id == first.id
    with pytest.raises(NotFound, match="no explicit partition"):
        table.partition({"dt": SECOND})
    with pytest.raises(NotFound, match="no partition of this id"):
        table.partition(id=table.id)


def test_texts_that_differ_in_case_alone_are_two_partitions(main):
    table = main.create_table("t", {"id": "long", "region": "string"}, partition_by=["region"])
    for region in ("EU", "eu", "a/b|c@d#e", ""):
        table.create_partition({"region": region}).append([{"id": len(region)}])
    assert [partition.values["region"] for partition in table.partitions()[1:]] == ["", "a/b|c@d#e", "eu", "EU"]
    assert [partition.count() for partition in table.partitions()] == [0, 1, 1, 1, 1]


def test_properties_are_the_caller_s(table):
    partition = table.create_partition({"dt": FIRST})
    partition.set_properties({"owner": "ada", "source": "hive"})
    partition.unset_properties(["source"])
    assert partition.properties == {"owner": "ada"}
    with pytest.raises(Invalid, match="property of a table"):
        partition.set_properties({"write.inline-bytes": "0"})


def test_the_same_event_id_creates_one_partition(table, hive):
    asked = {"location": str(hive / "dt=2026-11-01"), "event_id": event_id("register", "2026-11-01")}
    first = table.create_partition({"dt": FIRST}, **asked)
    again = table.create_partition({"dt": FIRST}, **asked)
    assert (first.id, ids(table)) == (again.id, [10, 11])


# Altering, renaming


def test_a_partition_gets_other_values_with_its_rows(table):
    table.append([row(2, SECOND)])
    partition = table.create_partition({"dt": FIRST})
    partition.append([{"id": 1}])
    partition.rename({"dt": THIRD})
    assert (partition.values, ids(partition), days(table)) == ({"dt": THIRD}, [1], [SECOND, THIRD])
    assert table.partition({"dt": THIRD}).id == partition.id
    table.create_partition({"dt": SECOND})
    with pytest.raises(AlreadyExists):
        partition.rename({"dt": SECOND})


def test_another_location_replaces_its_files_in_one_commit(table, hive):
    partition = table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
    partition.append([{"id": 1}])
    partition.alter(location=str(hive / "dt=2026-11-02"))
    assert (ids(partition), days(table)) == ([20, 21], [FIRST])
    assert partition.location == str(hive / "dt=2026-11-02")
    assert [done.type for done in table.history()[0].operations] == ["alter_partition", "alter_partition"]


# Drop and undrop


def test_drop_and_undrop_bring_back_the_rows_that_were_there(table, hive):
    table.append([row(2, SECOND)])
    partition = table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
    partition.append([{"id": 1}])
    table.delete("id = 10")
    dropped = table.drop_partition({"dt": FIRST})
    assert [(done.type, done.name) for done in dropped.operations] == [
        ("drop_partition", "s.t"),
        ("drop", "s.t.dt=2026-11-01"),
    ]
    assert ids(table) == [2]
    with pytest.raises(NotFound, match=r"dropped at version .* undrop_partition\(…\) brings it back"):
        table.partition({"dt": FIRST})
    table.append([row(3, FIRST)])  # it comes while the partition is gone
    table.undrop_partition({"dt": FIRST})
    assert (ids(table), ids(partition)) == ([1, 2, 3, 11], [1, 3, 11])
    with pytest.raises(NotFound, match="one that is alive"):
        table.undrop_partition({"dt": FIRST})


def test_several_dropped_partitions_of_one_value_are_told_apart_by_id(table):
    made = []
    for number in (1, 2):
        made.append(table.create_partition({"dt": FIRST}))
        made[-1].append([{"id": number}])
        made[-1].drop()
    with pytest.raises(Ambiguous) as error:
        table.undrop_partition({"dt": FIRST})
    assert {one.id for one in error.value.candidates} == {one.id for one in made}
    table.undrop_partition(id=made[0].id)
    assert ids(table) == [1]
    with pytest.raises(AlreadyExists):
        table.undrop_partition(id=made[1].id)


def test_files_that_came_back_before_their_partition_are_there_once(table, hive):
    folder = hive / "dt=2026-11-01"
    table.create_partition({"dt": FIRST}, location=str(folder)).append([{"id": 1}])
    table.drop_partition({"dt": FIRST})
    table.add_files(folder / "a.parquet")
    assert ids(table) == [10, 11]
    table.undrop_partition({"dt": FIRST})
    assert ids(table) == ids(table.partition({"dt": FIRST})) == [1, 10, 11]


def test_of_two_partitions_that_one_commit_dropped_one_comes_back_alone(main, table):
    table.append([{"id": 1, "dt": FIRST}, {"id": 2, "dt": SECOND}])
    for day in (FIRST, SECOND):
        table.create_partition({"dt": day})
    with main.transaction("both") as tx:
        tx.table("s.t").drop_partition({"dt": FIRST})
        tx.table("s.t").drop_partition({"dt": SECOND})
    table.undrop_partition({"dt": SECOND})
    assert (ids(table), table.partition({"dt": SECOND}).count()) == ([2], 1)
    table.undrop_partition({"dt": FIRST})
    assert ids(table) == [1, 2]


def test_an_undropped_key_that_somebody_else_has_now_is_refused(main):
    table = main.create_table("t", COLUMNS, partition_by=["dt"], primary_key=["id"])
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    table.drop_partition({"dt": FIRST})
    table.append([row(1, SECOND)])
    with pytest.raises(Invalid, match="key"):
        table.undrop_partition({"dt": FIRST})
    assert listed(table) == [(None, 1)]


def test_what_is_not_there_can_be_dropped_if_asked(table):
    assert table.drop_partition({"dt": FIRST}, if_exists=True) is None
    with pytest.raises(NotFound):
        table.drop_partition({"dt": FIRST})
    with pytest.raises(Invalid, match="root partition"):
        table.partition().drop()
    for wrong in ({}, {"values": {"dt": FIRST}, "id": table.id}):
        with pytest.raises(Invalid, match="one of the two"):
            table.undrop_partition(**wrong)


# The past, transactions, shares


def test_earlier_versions_show_earlier_partitions(table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    then = table.version
    table.drop_partition({"dt": FIRST})
    past = table.at(version=then)
    assert listed(past) == [(None, 0), (FIRST, 1)]
    with pytest.raises(Forbidden):
        past.create_partition({"dt": SECOND})
    table.restore(then)
    assert listed(table) == [(None, 0), (FIRST, 1)]


def test_a_transaction_sees_its_partitions_and_commits_them_together(main, table):
    with main.transaction("november") as tx:
        inside = tx.table("s.t")
        inside.create_partition({"dt": FIRST}).append([{"id": 1}])
        assert (listed(inside), listed(table)) == ([(None, 0), (FIRST, 1)], [(None, 0)])
    assert listed(table) == [(None, 0), (FIRST, 1)]
    with pytest.raises(ZeroDivisionError), main.transaction("never") as tx:
        tx.table("s.t").drop_partition({"dt": FIRST})
        1 / 0  # noqa: B018
    assert listed(table) == [(None, 0), (FIRST, 1)]


def test_a_share_of_the_table_shows_its_partitions(lake, main, table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    main.create_share("given", ["s.t"])
    assert listed(lake.catalog("default@given").table("s.t")) == [(None, 0), (FIRST, 1)]


def test_a_dropped_table_comes_back_with_its_partitions(main, table):
    partition = table.create_partition({"dt": FIRST})
    partition.append([{"id": 1}])
    main.drop_table("s.t")
    with pytest.raises(NotFound):
        partition.count()
    main.undrop_table("s.t")
    assert listed(table) == [(None, 0), (FIRST, 1)]
    main.drop_table("s.t")
    main.purge_table("s.t")
    assert main.inspect("__partitions").num_rows == 0


def test_each_edition_has_partitions_of_its_own(main, table):
    first = table.create_partition({"dt": FIRST})
    first.append([{"id": 1}])
    second = table.create_edition("2")
    assert listed(second) == [(None, 0)]
    made = second.create_partition({"dt": FIRST})
    staged = second.stage_partition({"dt": FIRST})
    staged.append([{"id": 2}])
    staged.commit()
    assert (listed(second), listed(table), staged.previous) == (
        [(None, 0), (FIRST, 1)],
        [(None, 0), (FIRST, 1)],
        made.id,
    )
    assert (ids(second), ids(table)) == ([2], [1])
    table.activate("2")
    assert (table.partition({"dt": FIRST}).id, ids(table)) == (staged.id, [2])
    assert (staged.locator.edition, staged.locator.table) == ("2", "t")
    table.activate("1")
    assert (table.partition({"dt": FIRST}).id, first.locator.edition) == (first.id, "1")


def test_a_stream_that_is_swapped_in_has_the_partitions_by_their_values(table):
    partition = table.create_partition({"dt": FIRST})
    partition.append([{"id": 1}])
    stream = table.stage_stream()
    stream.append([row(7, FIRST), row(8, SECOND)])
    stream.commit()
    assert (ids(partition), ids(table.partition())) == ([7], [8])


# Branches and merges


def test_a_partition_of_a_branch_comes_over_with_its_id(main, table):
    dev = main.create_branch("dev")
    made = dev.table("s.t").create_partition({"dt": FIRST})
    made.append([{"id": 1}])
    assert listed(table) == [(None, 0)]
    assert [str(row) for row in main.diff(dev)] == [
        "changed table s.t (files +1 -0 ~0, rows +1 -0)",
        "created partition s.t.dt=2026-11-01",
    ]
    main.merge(dev)
    assert (table.partition({"dt": FIRST}).id, ids(table)) == (made.id, [1])
    dev.table("s.t").drop_partition({"dt": FIRST})
    main.merge(dev)
    assert (listed(table), ids(table)) == ([(None, 0)], [])
    table.undrop_partition({"dt": FIRST})
    assert ids(table) == [1]


def test_the_same_values_on_both_sides_are_a_conflict(main, table):
    dev = main.create_branch("dev")
    for catalog, number in ((main, 1), (dev, 2)):
        catalog.table("s.t").create_partition({"dt": FIRST}).append([{"id": number}])
    theirs = dev.table("s.t").partition({"dt": FIRST}).id
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    [conflict] = error.value.conflicts
    assert (conflict.type, conflict.what) == ("partition", "name")
    main.merge(dev, strategy="theirs")
    assert (table.partition({"dt": FIRST}).id, ids(table)) == (theirs, [1, 2])


def test_dropped_here_and_appended_to_there_is_a_conflict(main, table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    dev = main.create_branch("dev")
    dev.table("s.t").append([row(2, FIRST)])
    table.drop_partition({"dt": FIRST})
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    assert [conflict.what for conflict in error.value.conflicts] == ["overwrite"]


EMPTIED = {
    "drop": lambda table, empty: table.drop_partition({"dt": FIRST}),
    "alter": lambda table, empty: table.partition({"dt": FIRST}).alter(location=str(empty)),
    "overwrite": lambda table, empty: table.overwrite([], "dt = '2026-11-01'"),
}


@pytest.mark.parametrize("empty", EMPTIED.values(), ids=EMPTIED)
@pytest.mark.parametrize("merged_before", [False, True])
def test_a_branch_that_merged_a_drop_and_did_nothing_itself_gets_no_conflict(
    main, table, tmp_path, empty, merged_before
):
    (tmp_path / "empty").mkdir()
    dev = main.create_branch("dev")
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    if merged_before:
        dev.merge(main)
    empty(table, tmp_path / "empty")
    dev.merge(main)
    table.append([row(9, FIRST)])
    dev.merge(main)
    assert ids(dev.table("s.t")) == [9]
    dev.table("s.t").append([row(10, FIRST)])
    main.merge(dev)
    assert ids(table) == [9, 10]


def test_a_drop_of_the_branch_itself_is_still_a_conflict_after_a_merge(main, table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    dev = main.create_branch("dev")
    dev.table("s.t").drop_partition({"dt": FIRST})
    table.append([row(2, SECOND)])
    dev.merge(main)
    table.append([row(9, FIRST)])
    with pytest.raises(Conflict):
        dev.merge(main)


def test_a_drop_that_came_from_a_third_branch_is_still_a_conflict(main, table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    dev, other = main.create_branch("dev"), main.create_branch("other")
    other.table("s.t").drop_partition({"dt": FIRST})
    dev.merge(other)
    table.append([row(9, FIRST)])
    with pytest.raises(Conflict):
        dev.merge(main)
    with pytest.raises(Conflict):
        main.merge(dev)


def test_dropped_here_and_another_one_appended_to_there_is_none(main, table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    dev = main.create_branch("dev")
    dev.table("s.t").append([row(2, SECOND)])
    table.drop_partition({"dt": FIRST})
    main.merge(dev)
    assert (listed(table), ids(table)) == ([(None, 1)], [2])


def test_both_sides_move_a_partition_elsewhere(main, table, hive):
    partition = table.create_partition({"dt": FIRST})
    dev = main.create_branch("dev")
    dev.table("s.t").partition(partition.id).alter(location=str(hive / "dt=2026-11-02"))
    partition.alter(location=str(hive / "dt=2026-11-01"))
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    assert "partition" in [conflict.what for conflict in error.value.conflicts]
    main.merge(dev, strategy="theirs")
    assert (partition.location, ids(partition)) == (str(hive / "dt=2026-11-02"), [20, 21])


def test_a_revert_of_a_drop_brings_the_partition_back(main, table):
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    dropped = table.drop_partition({"dt": FIRST})
    main.revert(dropped)
    assert listed(table) == [(None, 0), (FIRST, 1)]


def test_concurrent_appends_to_other_partitions_do_not_disturb_a_drop(main, table, monkeypatch):
    """The drop is made on an older state: an append to its partition is dropped with it, another one stays."""
    table.create_partition({"dt": FIRST}).append([{"id": 1}])
    with main.transaction("drop") as tx:
        tx.table("s.t").drop_partition({"dt": FIRST})
        table.append([row(2, SECOND)])
    assert ids(table) == [2]
    table.create_partition({"dt": FIRST}).append([{"id": 3}])
    with pytest.raises(Conflict), main.transaction("drop") as tx:
        tx.table("s.t").drop_partition({"dt": FIRST})
        table.append([row(4, FIRST)])
    assert ids(table) == [2, 3, 4]


# What is shown


def test_the_system_table_has_all_partitions(main, table, hive):
    table.append([row(1, THIRD)])
    table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
    table.create_partition({"dt": SECOND}).drop()
    table.stage_partition({"dt": SECOND})
    assert parts(main) == [
        (None, "committed", 1, 1),
        ("2026-11-01", "committed", 1, 2),
        ("2026-11-02", "staged", 0, 0),
        ("2026-11-02", "dropped", None, None),
    ]


def test_a_handle_says_what_it_is(table):
    partition = table.create_partition({"dt": FIRST})
    partition.append([{"id": 1}])
    assert repr(partition) == "Partition of s.t @ main, dt=2026-11-01, 1 row"
    assert repr(table.partition()) == "Partition of s.t @ main, root, 0 rows"


def test_the_lake_is_whole_and_its_files_are_referred_to(lake, main, hive):
    table = main.create_table("t", COLUMNS, partition_by=["dt"], properties={"write.inline-bytes": "0"})
    table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01")).append([{"id": 1}])
    staged = table.stage_partition({"dt": SECOND})
    staged.append([{"id": 2}])
    assert lake.check() == []
    staged.commit()
    assert lake.check() == []


def test_iceberg_shows_the_values_of_registered_files(main, hive, folder):
    pyiceberg = pytest.importorskip("pyiceberg.table")
    table = main.create_table("t", COLUMNS, partition_by=["dt"], properties={"write.inline-bytes": "0"})
    for day in (FIRST, SECOND):
        table.create_partition({"dt": day}, location=str(hive / f"dt={day}"))
    found = pyiceberg.StaticTable.from_metadata(table.export_iceberg()).scan().to_arrow()
    assert sorted(zip(found["id"].to_pylist(), found["dt"].to_pylist(), strict=True)) == [
        (10, FIRST), (11, FIRST), (20, SECOND), (21, SECOND)
    ]  # fmt: skip
