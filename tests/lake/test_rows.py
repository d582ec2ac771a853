"""Rows changed in place, by every call, inline and in files: the right rows, exact counts, one commit, or nothing."""

import math
from uuid import uuid4

import pyarrow
import pytest

import lakebed
from lakebed import Conflict, Forbidden, Invalid, NotFound, col, event_id
from lakebed.table.inline import is_inline

SCHEMA = {"id": "long", "region": "string", "amount": "double", "tags": "list<string>"}
NAN = math.nan

START = [
    {"id": 1, "region": "north", "amount": 1.0, "tags": ["a"]},
    {"id": 2, "region": "south", "amount": NAN, "tags": None},
    {"id": 3, "region": None, "amount": None, "tags": []},
    {"id": 4, "region": "north", "amount": -0.0, "tags": ["b", None]},
    {"id": 5, "region": "south", "amount": math.inf, "tags": None},
    {"id": 6, "region": None, "amount": 6.0, "tags": None},
]

LAYOUTS = {
    "plain": {},
    "by region": {"partition_by": ["region"]},
    "bucketed": {"partition_by": ["bucket(2, id)"], "sort_by": ["amount desc nulls last"]},
}


def arrow(*rows):
    form = pyarrow.schema(
        {
            "id": pyarrow.int64(),
            "region": pyarrow.string(),
            "amount": pyarrow.float64(),
            "tags": pyarrow.list_(pyarrow.string()),
        }
    )
    return pyarrow.Table.from_pylist(list(rows), form)


def row(id, region="new", amount=0.5, tags=None):
    return {"id": id, "region": region, "amount": amount, "tags": tags}


def shown(rows):
    """Rows by id, NaNs equal to each other."""
    return sorted(repr(one) for one in rows)


def rows(table, **asked):
    return shown(table.scan(**asked).to_arrow().to_pylist())


def ids(table, **asked):
    return sorted(table.scan(**asked).to_arrow()["id"].to_pylist())


def only(*wanted):
    return shown(one for one in START if one["id"] in wanted)


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def used_paths(table):
    """The files that it is made of."""
    live = entries(table)
    return {one.path for one in live if not is_inline(one)} | {one.dv_path for one in live if one.dv_path}


def row_ids(table):
    found = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    return {one["id"]: one["_row_id"] for one in found}


def assert_counted(table):
    """KV-19: every snapshot's totals are what its files add up to, and the counts lead from one to the next."""
    past = table.snapshots()[::-1]
    before = {"files": 0, "rows": 0, "bytes": 0}
    for snapshot in past:
        then = table.at(snapshot=snapshot.id)
        live = entries(then)
        found = {
            "files": len(live),
            "rows": then.scan().to_arrow().num_rows,
            "bytes": sum(one.file_size for one in live),
        }
        assert snapshot.totals == found
        assert then.scan().count() == found["rows"]
        assert all(count >= 0 for count in snapshot.counts.values())
        for what, total in found.items():
            change = snapshot.counts.get(f"added_{what}", 0) - snapshot.counts.get(f"removed_{what}", 0)
            assert before[what] + change == total, (snapshot.operation, what)
        before = found


@pytest.fixture(params=["0", "64000"], ids=["files", "inline"])
def inline(request):
    return request.param


@pytest.fixture(params=LAYOUTS)
def table(request, main, inline):
    """Six rows in two commits; its counts are proved when the test is over."""
    layout = LAYOUTS[request.param]
    table = main.create_table("t", SCHEMA, primary_key=["id"], properties={"write.inline-bytes": inline}, **layout)
    table.append(arrow(*START[:3]))
    table.append(arrow(*START[3:]))
    yield table
    assert_counted(table)


@pytest.fixture
def plain(main, inline):
    table = main.create_table("t", SCHEMA, primary_key=["id"], properties={"write.inline-bytes": inline})
    table.append(arrow(*START[:3]))
    table.append(arrow(*START[3:]))
    yield table
    assert_counted(table)


# delete

DELETES = {
    "id = 1": {1},
    "id < 4": {1, 2, 3},
    "region = 'north'": {1, 4},
    "region is null": {3, 6},
    "region is not null": {1, 2, 4, 5},
    "region <> 'north'": {2, 5},
    "not (region = 'north')": {2, 5},
    "amount is null": {3},
    "amount > 1": {2, 5, 6},  # NaN is greater than all numbers, as in Spark
    "amount <= 0": {4},
    "amount = 0.0": {4},
    "id in (2, 4, 99)": {2, 4},
    "id > 2 and (region = 'north' or amount is null)": {3, 4},
    "true": {1, 2, 3, 4, 5, 6},
    "id > 0": {1, 2, 3, 4, 5, 6},
    "false": set(),
    "id = 99": set(),
    "region = 'nowhere'": set(),
}


@pytest.mark.parametrize("where", DELETES)
def test_a_delete_takes_away_the_rows_that_pass_and_no_others(table, where):
    before, old = table.version, rows(table)
    kept = {1, 2, 3, 4, 5, 6} - DELETES[where]
    commit = table.delete(where)
    assert rows(table) == only(*kept)
    assert table.scan().count() == len(kept)
    assert rows(table.at(before)) == old
    [operation] = commit.operations
    assert (operation.type, operation.object_id, operation.detail) == ("delete", table.id, where)
    assert operation.counts.get("removed_rows", 0) == len(DELETES[where])
    assert operation.counts.get("added_rows", 0) == 0
    assert table.snapshots()[0].counts == dict(operation.counts)
    assert [table.get(one) is not None for one in range(1, 7)] == [one in kept for one in range(1, 7)]
    assert ids(table, where=where) == []


def test_a_delete_by_a_built_condition_is_the_same(table):
    table.delete((col("region") == "north") | col("id").is_in([2, 3]))
    assert rows(table) == only(5, 6)


def test_deletes_add_up_until_no_row_is_left(table):
    for number in (3, 1, 6, 2, 5, 4):
        table.delete(f"id = {number}")
    assert table.scan().to_arrow().num_rows == 0
    assert entries(table) == []
    assert table.snapshots()[0].totals == {"files": 0, "rows": 0, "bytes": 0}


def test_a_delete_that_comes_again_finds_nothing_and_commits(table):
    table.delete("id = 2")
    commit = table.delete("id = 2")
    assert dict(commit.operations[0].counts) == {}
    assert rows(table) == only(1, 3, 4, 5, 6)


def test_rows_that_stay_keep_their_ids(table):
    before = row_ids(table)
    table.delete("id in (1, 4)")
    assert row_ids(table) == {id: number for id, number in before.items() if id not in (1, 4)}


def test_files_of_which_all_rows_go_are_not_opened(main, opened):
    table = main.create_table(
        "t", {"id": "long", "p": "string"}, partition_by=["p"], properties={"write.inline-bytes": "0"}
    )
    table.append(pyarrow.table({"id": [1, 2, 3, 4], "p": ["a", "a", "b", None]}))
    table.delete("p = 'a'")
    table.delete("id >= 4")
    assert opened == []
    assert ids(table) == [3]
    opened.clear()
    table.truncate()
    assert opened == []
    assert entries(table) == []


def test_a_delete_opens_only_files_that_may_have_a_row(main, opened):
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    for first in range(0, 100, 10):
        table.append(pyarrow.table({"id": range(first, first + 10)}))
    table.delete("id = 55")
    assert len(opened) == 1
    assert table.scan().count() == 99


def test_one_delete_writes_one_puffin_file(main, files):
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    for first in range(0, 50, 10):
        table.append(pyarrow.table({"id": range(first, first + 10)}))
    table.delete("id in (3, 13, 23, 33, 43)")
    assert len([path for path in files() if path.endswith(".puffin")]) == 1
    assert table.scan().count() == 45


# truncate


def test_truncate_takes_away_everything_and_the_past_stays(table, opened):
    before, old = table.version, rows(table)
    opened.clear()
    commit = table.truncate()
    assert opened == []
    assert table.scan().count() == 0
    assert commit.operations[0].counts["removed_rows"] == 6
    assert rows(table.at(before)) == old
    table.truncate()
    assert table.scan().count() == 0
    table.append(arrow(row(7)))
    assert ids(table) == [7]


# upsert


def test_an_upsert_replaces_and_adds_whole_rows(table):
    before = row_ids(table)
    commit = table.upsert(arrow(row(2, "north", 9.0, ["z"]), row(3), row(7), row(8, None, NAN)))
    expected = [one for one in START if one["id"] not in (2, 3)]
    expected += [row(2, "north", 9.0, ["z"]), row(3), row(7), row(8, None, NAN)]
    assert rows(table) == shown(expected)
    after = row_ids(table)
    assert {id: after[id] for id in before} == before
    assert len(set(after.values())) == 8
    counts = commit.operations[0].counts
    assert (counts["added_rows"], counts["removed_rows"]) == (4, 2)
    assert table.get(2) == row(2, "north", 9.0, ["z"])
    assert table.get(99) is None


def test_an_upsert_of_the_same_rows_twice_changes_nothing_more(table):
    data = arrow(row(2), row(9))
    table.upsert(data)
    once, known = rows(table), row_ids(table)
    table.upsert(data)
    assert (rows(table), row_ids(table)) == (once, known)


def test_columns_that_lack_in_an_upsert_get_their_default(table):
    with table.evolve() as change:
        change.add_column("note", "string", default="none")
    table.upsert(pyarrow.table({"id": [1, 7], "region": ["east", "east"]}))
    expected = {"region": "east", "amount": None, "tags": None, "note": "none"}
    assert table.get(1) == {"id": 1, **expected}
    assert table.get(7) == {"id": 7, **expected}
    assert table.get(2)["note"] == "none"


def test_an_upsert_of_no_rows_commits_and_changes_none(table):
    commit = table.upsert(arrow())
    assert dict(commit.operations[0].counts) == {}
    assert rows(table) == shown(START)


def test_an_upsert_by_other_columns_matches_all_rows_that_have_them(plain):
    plain.upsert(arrow(row(9, "north"), row(10, "west")), on="region")
    assert ids(plain) == [2, 3, 5, 6, 9, 10]
    plain.upsert(arrow(row(11, "south"), row(2, "far")), on=["region", "id"])
    assert ids(plain) == [2, 2, 3, 5, 6, 9, 10, 11]


def test_an_upsert_of_many_keys_is_right(table):
    """More than a plan lists one by one."""
    table.upsert(arrow(*(row(number, "many") for number in range(2, 500))))
    assert ids(table) == list(range(1, 500))
    assert ids(table, where="region <> 'many' or region is null") == [1]
    table.upsert(arrow(*(row(number, "again") for number in range(499, 0, -1))))
    assert ids(table, where="region = 'again'") == list(range(1, 500))


def test_an_upsert_takes_pandas_and_readers(table):
    table.upsert(arrow(row(1, "pandas")).to_pandas())
    table.upsert(arrow(row(2, "reader"), row(20, "reader")).to_reader(1))
    assert ids(table, where="region in ('pandas', 'reader')") == [1, 2, 20]


# overwrite


def test_an_overwrite_puts_rows_in_the_place_of_all(table):
    before, old = table.version, rows(table)
    commit = table.overwrite(arrow(row(7), row(8)))
    assert ids(table) == [7, 8]
    counts = commit.operations[0].counts
    assert (counts["removed_rows"], counts["added_rows"]) == (6, 2)
    assert rows(table.at(before)) == old


@pytest.mark.parametrize("where", ["id < 4", "region is null", "amount > 1", "true", "id = 99"])
def test_an_overwrite_by_a_condition_takes_the_rows_that_pass(table, where):
    kept = {1, 2, 3, 4, 5, 6} - DELETES[where]
    commit = table.overwrite(arrow(row(1), row(70)), where)
    assert rows(table) == shown([*(one for one in START if one["id"] in kept), row(1), row(70)])
    counts = commit.operations[0].counts
    assert (counts.get("removed_rows", 0), counts["added_rows"]) == (len(DELETES[where]), 2)


def test_an_overwrite_with_no_rows_is_a_delete(table):
    table.overwrite(arrow(), "id > 3")
    assert rows(table) == only(1, 2, 3)
    table.overwrite(arrow())
    assert ids(table) == []


def test_an_overwrite_of_partitions_leaves_the_others(main, inline):
    table = main.create_table("t", SCHEMA, partition_by=["region"], properties={"write.inline-bytes": inline})
    table.append(arrow(*START))
    commit = table.overwrite_partitions(arrow(row(10, "north"), row(11, None), row(12, "west")))
    assert rows(table) == shown([START[1], START[4], row(10, "north"), row(11, None), row(12, "west")])
    counts = commit.operations[0].counts
    assert (counts["removed_rows"], counts["added_rows"]) == (4, 3)
    table.overwrite_partitions(arrow())
    assert table.scan().count() == 5
    assert_counted(table)


def test_partitions_without_a_spec_or_of_an_older_one_are_not_overwritten(main, inline, unchanged):
    table = main.create_table("t", SCHEMA, properties={"write.inline-bytes": inline})
    table.append(arrow(*START))
    with unchanged(), pytest.raises(Invalid, match="no partitions"):
        table.overwrite_partitions(arrow(row(1)))
    with table.evolve() as change:
        change.partition_by(["region"])
    with unchanged(), pytest.raises(Invalid, match="older partition spec"):
        table.overwrite_partitions(arrow(row(1, "north")))
    table.compact()
    table.overwrite_partitions(arrow(row(9, "north")))
    assert ids(table) == [2, 3, 5, 6, 9]


# Bad input

BAD = {
    "delete by an unknown column": lambda table: table.delete("nothing = 1"),
    "delete by a wrong type": lambda table: table.delete("id = 'x'"),
    "delete by NaN": lambda table: table.delete(col("id") == NAN),
    "delete by a boolean column that is none": lambda table: table.delete("id"),
    "delete by what can't be parsed": lambda table: table.delete("id = = 1"),
    "delete by no text": lambda table: table.delete(7),
    "delete by an empty text": lambda table: table.delete(""),
    "delete by a list": lambda table: table.delete("tags = 1"),
    "delete by a filter of partitions that are none": lambda table: table.delete("bucket(2, id) = 1"),
    "upsert with a duplicate key": lambda table: table.upsert(arrow(row(1), row(7), row(7))),
    "upsert with a null key": lambda table: table.upsert(arrow(row(1), row(None))),
    "upsert without the key": lambda table: table.upsert(pyarrow.table({"region": ["x"]})),
    "upsert with an unknown column": lambda table: table.upsert(pyarrow.table({"id": [1], "x": [1]})),
    "upsert with a wrong type": lambda table: table.upsert(pyarrow.table({"id": ["1"]})),
    "upsert by an unknown column": lambda table: table.upsert(arrow(row(1)), on="x"),
    "upsert by a double": lambda table: table.upsert(arrow(row(1)), on="amount"),
    "upsert by a list": lambda table: table.upsert(arrow(row(1)), on="tags"),
    "upsert by no column": lambda table: table.upsert(arrow(row(1)), on=[]),
    "upsert by a number": lambda table: table.upsert(arrow(row(1)), on=1),
    "upsert by one column twice": lambda table: table.upsert(arrow(row(1)), on=["id", "ID"]),
    "upsert of what is no data": lambda table: table.upsert("rows"),
    "upsert of None": lambda table: table.upsert(None),
    "overwrite with an unknown column": lambda table: table.overwrite(pyarrow.table({"id": [1], "x": [1]})),
    "overwrite with a wrong type": lambda table: table.overwrite(pyarrow.table({"id": [1.5]})),
    "overwrite with a null key": lambda table: table.overwrite(arrow(row(None))),
    "overwrite by an unknown column": lambda table: table.overwrite(arrow(row(1)), "x = 1"),
    "overwrite of what is no data": lambda table: table.overwrite(7),
    "partitions with a wrong type": lambda table: table.overwrite_partitions(pyarrow.table({"id": ["x"]})),
    "get without a key": lambda table: table.get(),
    "get with too many": lambda table: table.get(1, 2),
    "get by a wrong type": lambda table: table.get("1"),
    "get by null": lambda table: table.get(None),
    "get by NaN": lambda table: table.get(NAN),
    "get by a boolean": lambda table: table.get(True),
    "an event id that is none": lambda table: table.delete("id = 1", event_id="x"),
    "an author that is none": lambda table: table.truncate(author=7),
}


@pytest.mark.parametrize("call", BAD)
def test_bad_input_is_refused_and_changes_nothing(main, inline, call, unchanged):
    table = main.create_table(
        "t", SCHEMA, primary_key=["id"], partition_by=["region"], properties={"write.inline-bytes": inline}
    )
    table.append(arrow(*START))
    with unchanged(), pytest.raises((Invalid, NotFound)):
        BAD[call](table)
    with unchanged(), pytest.raises((Invalid, NotFound)), main.transaction("bad") as tx:
        BAD[call](tx.table("t"))


def test_a_duplicate_key_is_named(table, unchanged):
    with unchanged(), pytest.raises(Invalid, match="comes twice") as refused:
        table.upsert(arrow(row(1), row(7), row(8), row(7)))
    assert "id = 7" in str(refused.value)


def test_an_upsert_needs_a_key(main, unchanged):
    table = main.create_table("t", SCHEMA)
    with unchanged(), pytest.raises(Invalid, match="no primary key"):
        table.upsert(arrow(row(1)))
    with unchanged(), pytest.raises(Invalid, match="no primary key"):
        table.get(1)


def test_the_past_and_a_tag_are_not_changed(main, table, unchanged):
    main.create_tag("first")
    for past in (table.at(table.version), main.tag("first").table("t"), main.at(main.version).table("t")):
        calls = [
            lambda past=past: past.delete("id = 1"),
            lambda past=past: past.truncate(),
            lambda past=past: past.upsert(arrow(row(1))),
            lambda past=past: past.overwrite(arrow(row(1))),
        ]
        for call in calls:
            with unchanged(), pytest.raises(Forbidden):
                call()


# Transactions


def test_a_transaction_reads_what_it_changed_and_nobody_else_does(main, table):
    with main.transaction("all") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8), row(9)))
        own.delete("id in (1, 8)")
        assert ids(own) == [2, 3, 4, 5, 6, 7, 9]
        own.upsert(arrow(row(7, "twice"), row(2, "twice")))
        own.upsert(arrow(row(7, "thrice"), row(10, "thrice")))
        assert ids(own, where="region = 'thrice'") == [7, 10]
        assert own.get(7) == row(7, "thrice")
        assert own.get(8) is None
        own.overwrite(arrow(row(5, "over")), "id = 5 or id = 9")
        own.delete("id = 10")
        assert ids(own) == [2, 3, 4, 5, 6, 7]
        assert own.scan().count() == 6
        assert rows(table) == shown(START)
    expected = [START[2], START[3], START[5], row(2, "twice"), row(5, "over"), row(7, "thrice")]
    assert rows(table) == shown(expected)


def test_what_a_transaction_adds_and_deletes_was_never_there(main, table):
    before, chain = rows(table), len(table.snapshots())
    with main.transaction("nothing") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8)))
        own.delete("id = 7")
        own.delete("id = 8")
    assert rows(table) == before
    assert table.snapshots()[0].counts.get("added_rows", 0) == 0
    assert len(table.snapshots()) <= chain + 1


def test_a_table_is_truncated_and_filled_in_one_transaction(main, table):
    with main.transaction("again") as tx:
        tx.table("t").truncate()
        assert ids(tx.table("t")) == []
        tx.table("t").append(arrow(row(1), row(2)))
        tx.table("t").delete("id = 2")
    assert rows(table) == shown([row(1)])


def test_a_table_that_a_transaction_makes_can_be_changed_in_it(main, inline):
    with main.transaction("make") as tx:
        made = tx.create_table("made", SCHEMA, primary_key=["id"], properties={"write.inline-bytes": inline})
        made.append(arrow(*START))
        made.delete("id > 4")
        made.upsert(arrow(row(1), row(9)))
        assert ids(made) == [1, 2, 3, 4, 9]
    assert ids(main.table("made")) == [1, 2, 3, 4, 9]
    assert_counted(main.table("made"))


def test_a_transaction_that_fails_leaves_no_trace(main, table, unchanged):
    with unchanged(), pytest.raises(ZeroDivisionError), main.transaction("fails") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8)))
        own.delete("id in (1, 7)")
        own.delete("id in (2)")
        own.upsert(arrow(row(3), row(9)))
        own.overwrite(arrow(row(11)), "id = 4")
        _ = 1 / 0


def test_a_call_of_a_transaction_that_fails_leaves_the_others_good(main, table):
    with main.transaction("goes on") as tx:
        own = tx.table("t")
        own.delete("id = 1")
        with pytest.raises(Invalid):
            own.upsert(arrow(row(7), row(7)))
        with pytest.raises((Invalid, NotFound)):
            own.delete("nothing = 1")
        own.append(arrow(row(7)))
    assert ids(table) == [2, 3, 4, 5, 6, 7]


def test_changes_of_one_transaction_have_no_words_of_their_own(main, table):
    with main.transaction("told") as tx:
        for call in (
            lambda: tx.table("t").delete("id = 1", message="why"),
            lambda: tx.table("t").upsert(arrow(row(1)), author="bob"),
            lambda: tx.table("t").truncate(event_id=str(uuid4())),
        ):
            with pytest.raises(Invalid, match="inside a transaction"):
                call()
    assert tx.committed.operations == ()
    assert rows(table) == shown(START)


def test_what_a_transaction_wrote_and_replaced_again_is_not_left_behind(main, table, files):
    with main.transaction("twice") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8)))
        for number in (1, 4, 7):
            own.delete(f"id = {number}")
        own.upsert(arrow(row(2), row(9)))
        own.upsert(arrow(row(2), row(9)))
    assert ids(table) == [2, 3, 5, 6, 8, 9]
    used = {path for version in table.snapshots() for path in used_paths(table.at(snapshot=version.id))}
    assert set(files()) == used


# Branches


def test_a_branch_changes_rows_of_its_own_and_a_merge_brings_them(main, table):
    dev = main.create_branch("dev")
    own = dev.table("t")
    own.delete("id = 1")
    own.upsert(arrow(row(2, "dev"), row(7, "dev")))
    assert rows(table) == shown(START)
    [difference] = main.diff(dev)
    assert (difference.rows_removed, difference.rows_added) == (2, 2)
    main.merge(dev)
    assert rows(table) == rows(own)
    assert rows(table) == shown([*START[2:], row(2, "dev"), row(7, "dev")])
    assert main.diff(dev) == []


def test_a_merge_brings_appends_of_both_sides_and_a_delete_of_one(main, table):
    dev = main.create_branch("dev")
    dev.table("t").delete("id = 4")
    table.append(arrow(row(8)))
    dev.table("t").append(arrow(row(9)))
    main.merge(dev)
    assert ids(table) == [1, 2, 3, 5, 6, 8, 9]


CHANGES = {
    "delete": lambda table: table.delete("id in (1, 2, 6)"),
    "truncate": lambda table: table.truncate(),
    "upsert": lambda table: table.upsert(arrow(row(2), row(7))),
    "overwrite": lambda table: table.overwrite(arrow(row(7), row(8))),
    "overwrite by a condition": lambda table: table.overwrite(arrow(row(7)), "id > 2"),
    "compact": lambda table: table.compact(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_revert_gives_back_what_was_and_a_restore_too(main, plain, change):
    """Law 8."""
    before, version = rows(plain), main.version
    known = row_ids(plain)
    commit = CHANGES[change](plain)
    after = rows(plain)
    main.revert(commit)
    assert (rows(plain), row_ids(plain)) == (before, known)
    main.restore_table("t", commit.version)
    assert rows(plain) == after
    main.restore_table("t", version)
    assert (rows(plain), row_ids(plain)) == (before, known)


@pytest.mark.parametrize("change", CHANGES)
def test_a_revert_leaves_what_was_appended_later(main, plain, change):
    commit = CHANGES[change](plain)
    plain.append(arrow(row(50)))
    main.revert(commit)
    assert rows(plain) == shown([*START, row(50)])


@pytest.mark.parametrize("change", CHANGES)
def test_a_pick_does_here_what_was_done_there(main, plain, change):
    dev = main.create_branch("dev")
    commit = CHANGES[change](dev.table("t"))
    main.cherry_pick(commit)
    assert rows(plain) == rows(dev.table("t"))
    assert_counted(dev.table("t"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_branch_at_the_commit_before_has_the_rows_of_then(main, plain, change):
    version = main.version
    CHANGES[change](plain)
    dev = main.create_branch("dev", version)
    assert rows(dev.table("t")) == shown(START)
    CHANGES[change](dev.table("t"))
    assert rows(dev.table("t")) == rows(plain)


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_changes_no_read(main, table, change):
    """Law 6."""
    versions = [table.version]
    CHANGES[change](table)
    before = [rows(table), rows(table.at(versions[0]))]
    table.checkpoint()
    assert [rows(table), rows(table.at(versions[0]))] == before
    table.delete("id = 3")
    table.append(arrow(row(60)))
    assert len(rows(table)) == len([one for one in before[0] if not one.startswith("{'id': 3,")]) + 1
    table.checkpoint()
    assert [rows(table.at(versions[0]))] == before[1:]


# Event ids

EVENTS = {
    "delete": (lambda t, e: t.delete("id = 1", event_id=e), lambda t, e: t.delete("id = 2", event_id=e)),
    "truncate": (lambda t, e: t.truncate(event_id=e), lambda t, e: t.delete("true", event_id=e)),
    "upsert": (
        lambda t, e: t.upsert(arrow(row(7)), event_id=e),
        lambda t, e: t.upsert(arrow(row(7)), on="region", event_id=e),
    ),
    "overwrite": (
        lambda t, e: t.overwrite(arrow(row(7)), "id = 1", event_id=e),
        lambda t, e: t.overwrite(arrow(row(7)), "id = 2", event_id=e),
    ),
    "overwrite_partitions": (
        lambda t, e: t.overwrite_partitions(arrow(row(7)), event_id=e),
        lambda t, e: t.overwrite(arrow(row(7)), event_id=e),
    ),
    "compact": (lambda t, e: t.compact(event_id=e), lambda t, e: t.compact(where="id = 1", event_id=e)),
}


@pytest.fixture
def parted(main, inline):
    table = main.create_table(
        "t", SCHEMA, primary_key=["id"], partition_by=["region"], properties={"write.inline-bytes": inline}
    )
    table.append(arrow(*START[:3]))
    table.append(arrow(*START[3:]))
    return table


@pytest.mark.parametrize("call", EVENTS)
def test_a_call_that_comes_again_answers_the_same_and_changes_nothing(parted, call, unchanged):
    """Law 4."""
    again, other = EVENTS[call]
    event = event_id("rows", call)
    first = again(parted, event)
    after = rows(parted)
    with unchanged():
        assert again(parted, event) == first
    with unchanged(), pytest.raises(Invalid, match="belongs to another change"):
        other(parted, event)
    parted.append(arrow(row(90)))
    with unchanged():
        assert again(parted, event) == first
    assert len(rows(parted)) == len(after) + 1


@pytest.mark.parametrize("call", EVENTS)
def test_a_call_that_comes_again_is_known_though_its_table_is_gone_or_another(main, parted, call, unchanged):
    again, _ = EVENTS[call]
    event = event_id("rows", call)
    first = again(parted, event)
    with parted.evolve() as change:
        change.partition_by([])
        change.primary_key([])
        change.drop_column("amount")
    with unchanged():
        assert again(parted, event) == first
    main.drop_table("t")
    with unchanged():
        assert again(parted, event) == first


@pytest.mark.parametrize("call", EVENTS)
def test_a_call_says_who_and_why(parted, call):
    commit = {
        "delete": lambda **told: parted.delete("id = 1", **told),
        "truncate": lambda **told: parted.truncate(**told),
        "upsert": lambda **told: parted.upsert(arrow(row(7)), **told),
        "overwrite": lambda **told: parted.overwrite(arrow(row(7)), **told),
        "overwrite_partitions": lambda **told: parted.overwrite_partitions(arrow(row(7)), **told),
        "compact": lambda **told: parted.compact(**told),
    }[call](message="why", author="bob")
    assert (commit.message, commit.author) == ("why", "bob")
    assert parted.history()[0] == commit


# update

UPDATES = {
    "id = 1": {1},
    "region = 'north'": {1, 4},
    "amount is null": {3},
    "id = 99": set(),
    "true": {1, 2, 3, 4, 5, 6},
}


@pytest.mark.parametrize("where", UPDATES)
def test_an_update_changes_columns_of_the_rows_that_pass(table, where):
    before, known = table.version, row_ids(table)
    commit = table.update({"region": "'moved'", "amount": "id * 2.0"}, where)
    expected = [
        {**one, "region": "moved", "amount": one["id"] * 2.0} if one["id"] in UPDATES[where] else one for one in START
    ]
    assert rows(table) == shown(expected)
    assert row_ids(table) == known
    assert rows(table.at(before)) == shown(START)
    counts = commit.operations[0].counts
    assert counts.get("added_rows", 0) == counts.get("removed_rows", 0) == len(UPDATES[where])


def test_an_update_sees_each_row_as_it_was(main, inline):
    table = main.create_table("t", {"a": "long", "b": "long"}, properties={"write.inline-bytes": inline})
    table.append(pyarrow.table({"a": [1, 2], "b": [10, 20]}))
    table.update({"a": "b", "b": "a"})
    assert sorted(table.scan().to_arrow().to_pylist(), key=repr) == [{"a": 10, "b": 1}, {"a": 20, "b": 2}]
    table.update({"a": lakebed.lit(7)}, "b = 1")
    assert sorted(table.scan().to_arrow()["a"].to_pylist()) == [7, 20]


@pytest.mark.parametrize(
    "values",
    [{}, {"nothing": "1"}, {"id": "'x'"}, {"id": "null"}, {"amount": "nothing + 1"}, {"amount": "1 +"}, {"id": None}],
)
def test_an_update_that_can_not_be_is_refused(table, values, unchanged):
    with unchanged(), pytest.raises((Invalid, NotFound)):
        table.update(values, "id = 1")


def test_an_update_that_lost_its_transaction_leaves_no_trace(main, table, unchanged):
    with unchanged(), pytest.raises(ZeroDivisionError), main.transaction("fails") as tx:
        tx.table("t").update({"amount": "1.0"}, "id < 3")
        _ = 1 / 0


def test_a_conflict_of_a_transaction_leaves_no_trace_of_it(main, table, files):
    with pytest.raises(Conflict), main.transaction("loses") as tx:
        tx.table("t").delete("id = 1")
        tx.table("t").upsert(arrow(row(2), row(8)))
        table.delete("id = 1")
        kept = set(files())
    assert set(files()) <= kept
    assert set(files()) == used_paths(table) | used_paths(table.at(table.snapshots()[1].version))
    assert ids(table) == [2, 3, 4, 5, 6]
