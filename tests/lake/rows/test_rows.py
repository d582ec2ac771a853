"""Rows changed in place, by every call, inline and in files: the right rows, exact counts, one commit, or nothing."""

import pyarrow
import pytest

import lakebed
from lakebed import Field, Forbidden, Invalid, NotFound, Schema, col
from tests.support.row_tables import (
    LAYOUTS,
    NAN,
    SCHEMA,
    START,
    arrow,
    assert_counted,
    counted_table,
    entries,
    ids,
    only,
    row,
    row_ids,
    rows,
    shown,
)

pytestmark = pytest.mark.sampled(3)


@pytest.fixture(params=LAYOUTS)
def table(request, main, inline):
    """Six rows in two commits; its counts are proved when the test is over."""
    yield from counted_table(main, inline, request.param)


@pytest.fixture
def plain(main, inline):
    yield from counted_table(main, inline)


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
    if not DELETES[where]:
        assert (commit.id, commit.version, table.version) == ("", table.history()[0].version, before)
        return
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


def test_a_delete_that_comes_again_finds_nothing_and_answers_where_the_branch_stands(table):
    commit = table.delete("id = 2")
    again = table.delete("id = 2")
    assert (again.id, again.version) == ("", commit.version)
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


def test_an_upsert_of_some_columns_keeps_the_others_of_rows_that_exist(table):
    with table.evolve() as change:
        change.add_column("note", "string", default="none")
    table.update({"note": "'mine'"}, where="id = 1")
    known = row_ids(table)
    table.upsert(pyarrow.table({"id": [7, 4, 1], "region": ["east", None, "east"]}))
    assert table.get(1) == {"id": 1, "region": "east", "amount": 1.0, "tags": ["a"], "note": "mine"}
    assert table.get(4) == {"id": 4, "region": None, "amount": -0.0, "tags": ["b", None], "note": "none"}
    assert table.get(7) == {"id": 7, "region": "east", "amount": None, "tags": None, "note": "none"}
    assert row_ids(table).items() >= known.items()
    table.upsert(pyarrow.table({"id": [4]}))  # a key alone changes nothing in a row that exists
    assert table.get(4)["tags"] == ["b", None]


def test_an_upsert_of_some_columns_needs_no_required_column_of_rows_that_exist(main, inline):
    columns = [Field("id", "long", required=True), Field("name", "string", required=True), Field("n", "int")]
    table = main.create_table("t", Schema(columns), primary_key=["id"], properties={"write.inline-bytes": inline})
    table.append([{"id": 1, "name": "one"}])
    table.upsert([{"id": 1, "n": 5}])
    assert rows(table) == shown([{"id": 1, "name": "one", "n": 5}])
    with pytest.raises(Invalid, match="name: a required column has a null"):
        table.upsert([{"id": 1, "n": 6}, {"id": 2, "n": 6}])
    with pytest.raises(Invalid, match="name: string not null expected, no such column"):
        table.upsert([{"id": 1, "n": 5}], fill="default")
    with pytest.raises(Invalid, match="id: long not null expected, no such column"):
        table.upsert([{"n": 5}])


def test_an_upsert_keeps_what_is_in_the_row_whose_id_it_takes_over(plain):
    plain.upsert([{"region": "north", "tags": ["new"]}], on="region")
    assert [one["id"] for one in plain.scan("region = 'north'").to_arrow().to_pylist()] == [1]
    assert plain.get(1) == {"id": 1, "region": "north", "amount": 1.0, "tags": ["new"]}


def test_an_upsert_in_a_transaction_keeps_what_the_transaction_added(main, plain):
    with main.transaction("both") as tx:
        own = tx.table("t")
        own.append(arrow(row(7, "east", 7.0, ["q"])))
        own.upsert([{"id": 7, "amount": 8}, {"id": 1, "amount": 8}])
        assert own.get(7) == row(7, "east", 8.0, ["q"])
    assert plain.get(1) == {**START[0], "amount": 8.0}


def test_an_upsert_fills_as_it_is_asked_to(table):
    for wrong in ("null", None, True):
        with pytest.raises(Invalid, match=r"missing columns can't be filled like this .*'keep' or 'default'"):
            table.upsert(arrow(row(1)), fill=wrong)
    with pytest.raises(Invalid, match="cast is True or False"):
        table.upsert(arrow(row(1)), cast="yes")


def test_an_upsert_may_set_missing_columns_to_their_default(table):
    with table.evolve() as change:
        change.add_column("note", "string", default="none")
    table.upsert(pyarrow.table({"id": [1, 7], "region": ["east", "east"]}), fill="default")
    expected = {"region": "east", "amount": None, "tags": None, "note": "none"}
    assert table.get(1) == {"id": 1, **expected}
    assert table.get(7) == {"id": 7, **expected}
    assert table.get(2)["note"] == "none"


def test_an_upsert_of_no_rows_changes_none(table):
    assert table.upsert(arrow()).version == table.history()[0].version
    assert rows(table) == shown(START)


def test_an_upsert_of_dicts_with_different_columns_set_the_missing_ones_to_null(plain):
    before = rows(plain)
    with pytest.raises(Invalid, match="row 1: the rows have different columns"):
        plain.upsert([{"id": 1, "region": "far"}, {"id": 2, "amount": 7.0}])
    assert rows(plain) == before
    amount = plain.get(1)["amount"]
    plain.upsert([{"id": 1, "region": "far"}, {"region": "near", "id": 2}])
    assert (plain.get(1)["region"], plain.get(1)["amount"]) == ("far", amount)


def test_an_upsert_by_other_columns_matches_all_rows_that_have_them(plain):
    plain.upsert(arrow(row(9, "north"), row(10, "west")), on="region")
    assert ids(plain) == [2, 3, 5, 6, 9, 10]
    plain.upsert(arrow(row(11, "south"), row(12, "far")), on=["region", "id"])
    assert ids(plain) == [2, 3, 5, 6, 9, 10, 11, 12]


def test_an_upsert_by_other_columns_repeats_no_primary_key(plain):
    with pytest.raises(Invalid, match="id = 2: a primary key is in the table already"):
        plain.upsert(arrow(row(11, "south"), row(2, "far")), on=["region", "id"])
    assert ids(plain) == [1, 2, 3, 4, 5, 6]


def test_an_upsert_of_many_keys_is_right(table):
    """More than a plan lists one by one."""
    table.upsert(arrow(*(row(number, "many") for number in range(2, 500))))
    assert ids(table) == list(range(1, 500))
    assert ids(table, where="region <> 'many' or region is null") == [1]
    table.upsert(arrow(*(row(number, "again") for number in range(499, 0, -1))))
    assert ids(table, where="region = 'again'") == list(range(1, 500))


def test_every_change_takes_python_rows_and_casts_by_choice(table):
    table.upsert([{"id": 1, "region": "dicts"}])
    table.upsert({"id": ["2"], "region": ["cast"]}, cast=True)
    table.merge([{"id": 20, "region": "merged"}], "id", lakebed.when_not_matched_insert({"id": "id"}))
    table.append([{"id": "30", "amount": "1.5"}], cast=True)
    table.append({"id": ["31"], "size": [5]}, cast=True, evolve="add")
    assert ids(table) == [1, 2, 3, 4, 5, 6, 20, 30, 31]
    assert table.get(30)["amount"] == 1.5
    table.overwrite([{"id": "40"}], "id > 20", cast=True)
    with pytest.raises(Invalid, match=r"table t, column 'id': a value does not fit .*'x' in row 1"):
        table.overwrite([{"id": "1"}, {"id": "x"}], cast=True)
    table.overwrite([{"id": 1, "amount": 2}])
    assert rows(table) == shown([{"id": 1, "region": None, "amount": 2.0, "tags": None, "size": None}])


def test_what_pandas_shows_can_be_appended_again(main):
    """pandas shows a column of whole numbers that has a null as floats."""
    table = main.create_table("numbers", {"id": "long", "n": "int", "amount": "double"})
    table.append([{"id": 1, "n": 2}, {"n": None, "amount": 1.5}])
    table.append(table.scan().to_pandas())
    assert table.scan().to_arrow().to_pylist()[2:] == table.scan().to_arrow().to_pylist()[:2]


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
    commit = table.overwrite(arrow(row(71), row(70)), where)
    assert rows(table) == shown([*(one for one in START if one["id"] in kept), row(71), row(70)])
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
    if UPDATES[where]:
        counts = commit.operations[0].counts
        assert counts.get("added_rows", 0) == counts.get("removed_rows", 0) == len(UPDATES[where])
    else:
        assert (commit.id, commit.version, table.version) == ("", table.history()[0].version, before)


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


@pytest.mark.parametrize("where", ["source.flag AND source.v = 1", "target.v > 0 AND target.v + target.v < 5"])
def test_a_merge_failed_in_arrow_when_a_condition_read_one_side_alone(main, where):
    """A part of it that is for some rows only met the other side without columns, and so without its number of rows."""
    table = main.create_table("t", {"id": "long", "v": "long"})
    table.append(pyarrow.table({"id": [1, 2, 3], "v": [1, None, 7]}))
    source = pyarrow.table({"id": [1, 2, 3], "v": [1, 2, 3], "flag": [True, None, False]})
    table.merge(source, "id", lakebed.when_matched_update({"v": "source.v + 10"}, where=where))
    assert sorted(table.scan().to_arrow()["v"].to_pylist(), key=str) == [11, 7, None]


def test_what_is_no_mapping_of_values_was_an_error_of_pythons_own(main, unchanged):
    table = main.create_table("t", {"id": "long"})
    for values in (5, None, ["id"]):
        with unchanged(), pytest.raises(Invalid, match="values are given by column"):
            table.update(values)


@pytest.mark.parametrize("where", [None, 5, True, ["id = 1"]])
def test_a_delete_whose_condition_is_missing_deleted_every_row(main, where):
    """A setting that was not there, as in `delete(config.get("where"))`, emptied the table."""
    table = main.create_table("kept", {"id": "long"})
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    version = table.version
    with pytest.raises(Invalid):
        table.delete(where)
    assert (table.version, table.scan().count()) == (version, 3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("kept", "given"), [(-0.0, 0.0), (0.0, -0.0), (NAN, 0.0), (0.0, NAN)])
def test_overwriting_the_partition_of_one_float_leaves_the_rows_of_another(main, kept, given):
    table = main.create_table(
        "parted", {"id": "long", "x": "double"}, partition_by=["x"], properties={"write.inline-bytes": "0"}
    )
    table.append(pyarrow.table({"id": [1, 2], "x": [kept, given]}))
    table.overwrite_partitions(pyarrow.table({"id": [3], "x": [given]}))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 3]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("value", [-0.0, 1.5, NAN])
def test_overwriting_a_partition_replaces_its_rows_from_before_the_column_was_widened(main, value):
    table = main.create_table(
        "parted", {"id": "long", "x": "float"}, partition_by=["x"], properties={"write.inline-bytes": "0"}
    )
    table.append(pyarrow.table({"id": [1], "x": pyarrow.array([value], pyarrow.float32())}))
    with table.evolve() as change:
        change.widen_column("x", "double")
    table.overwrite_partitions(pyarrow.table({"id": [2], "x": [value]}))
    assert table.scan().to_arrow()["id"].to_pylist() == [2]
