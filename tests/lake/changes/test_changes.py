"""The change feed of a table: which rows came, went and changed between two of its states."""

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Expired, Invalid, NotFound
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.lake.table import Table
from tests.support.feeds import events_of

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"


@pytest.fixture
def orders(main: Catalog) -> Table:
    main.create_namespace("s")
    table = main.create_table("s.orders", {"id": "long", "v": "string"}, primary_key=["id"])
    table.append(rows(0, 1, 2, 3, 4))
    return table


def rows(*ids: int, v: str = "first") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([v] * len(ids), pa.string())})


def fed(feed) -> list[tuple]:
    """The rows of a feed as type, id and value."""
    return [(kind, *values) for kind, _, values in events_of(feed.to_arrow())]


def test_a_feed_has_each_commits_rows_with_its_version_and_time(orders):
    start = orders.version
    added = orders.append(rows(9))
    changed = orders.update({"v": "'new'"}, "id = 2")
    gone = orders.delete("id = 3")
    feed = orders.changes(start).to_arrow()
    assert feed.schema.names == ["id", "v", "_change_type", "_commit_version", "_commit_timestamp", "_row_id"]
    found = [(row["_change_type"], row["id"], row["v"], row["_commit_version"]) for row in feed.to_pylist()]
    assert found == [
        (INSERT, 9, "first", int(added.version)),
        (BEFORE, 2, "first", int(changed.version)),
        (AFTER, 2, "new", int(changed.version)),
        (DELETE, 3, "first", int(gone.version)),
    ]
    assert feed["_commit_timestamp"].to_pylist()[0] == added.time
    assert feed.slice(1, 2)["_row_id"].to_pylist() == [3, 3]


def test_since_is_exclusive_and_until_inclusive_and_both_take_what_at_takes(orders):
    first = orders.append(rows(5))
    second = orders.append(rows(6))
    orders.append(rows(7))
    assert fed(orders.changes(first.version, second.version)) == [(INSERT, 6, "first")]
    assert fed(orders.changes(first, second)) == [(INSERT, 6, "first")]
    assert fed(orders.changes(first.time, second.time)) == [(INSERT, 6, "first")]
    assert fed(orders.changes(-1)) == [(INSERT, 7, "first")]
    assert fed(orders.changes(-2, -1)) == [(INSERT, 6, "first")]
    assert fed(orders.changes(str(first.version), orders.at(second.version))) == [(INSERT, 6, "first")]
    assert fed(orders.at(second.version).changes(first)) == [(INSERT, 6, "first")]
    assert orders.changes(second, second).count() == 0
    with pytest.raises(Invalid, match="a feed begins before it ends"):
        orders.changes(second, first)


def test_a_feed_from_before_the_table_begins_with_its_first_rows(main, orders):
    before = main.log()[-1].version
    assert orders.changes(before).summary().inserted == 5
    assert orders.changes(before, net=True).count() == 5
    with pytest.raises(NotFound):
        orders.changes(before, before)


def test_without_updates_a_changed_row_goes_and_comes(orders):
    orders.update({"v": "'new'"}, "id = 2")
    assert fed(orders.changes(-1, updates=False)) == [(DELETE, 2, "first"), (INSERT, 2, "new")]
    assert str(orders.changes(-1).summary()) == "0 inserted, 0 deleted, 1 updated, in 1 commit"
    assert orders.changes(-1).count() == 2


def test_a_condition_is_tested_on_each_row_of_the_feed(orders):
    start = orders.version
    orders.update({"v": "'new'"}, "id in (1, 2)")
    assert fed(orders.changes(start, where="v = 'new'")) == [(AFTER, 1, "new"), (AFTER, 2, "new")]
    only = orders.changes(start, where="_change_type = 'update_preimage' and id > 1", columns=["id"])
    assert only.to_arrow().schema.names == ["id", "_change_type", "_commit_version", "_commit_timestamp", "_row_id"]
    assert fed(only) == [(BEFORE, 2)]
    assert only.count() == 1
    assert only.summary().updated == 1
    with pytest.raises(Invalid, match="there is no such column"):
        orders.changes(start, where="nothing = 1")
    with pytest.raises(Invalid, match="there is no such column"):
        orders.changes(start, columns=["nothing"])


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_only_changed_files_are_opened(main, orders, opened, in_files, mode):
    orders.set_properties({"write.row-changes": mode})
    for number in range(10, 15):
        orders.append(rows(number, number + 100))
    start = orders.version
    orders.delete("id = 12")
    opened.clear()
    assert fed(orders.changes(start)) == [(DELETE, 12, "first")]
    assert len(opened) == (1 if mode == "merge-on-read" else 4)  # of the copy and its source ids first, then rows
    opened.clear()
    assert orders.changes(-1).count() == 1
    assert opened == [] or mode == "copy-on-write"
    assert main.changes(start)[0].removed_rows >= 1


def test_compactions_and_checkpoints_are_not_read(orders, opened, in_files):
    for number in range(10, 15):
        orders.append(rows(number))
    start = orders.version
    orders.compact()
    orders.checkpoint()
    orders.append(rows(20))
    opened.clear()
    assert fed(orders.changes(start)) == [(INSERT, 20, "first")]
    assert fed(orders.changes(start, net=True)) == [(INSERT, 20, "first")]
    assert len(opened) == 2  # the new one, once for each feed
    assert orders.changes(start, orders.history()[1]).count() == 0


def test_a_revert_of_a_delete_inserts_the_old_row_ids(main, orders):
    gone = orders.delete("id in (1, 3)")
    ids = orders.changes(-1).to_arrow()["_row_id"].to_pylist()
    main.revert(gone)
    again = orders.changes(-1).to_arrow()
    assert (again["_row_id"].to_pylist(), set(again["_change_type"].to_pylist())) == (ids, {INSERT})
    assert orders.changes(-2, net=True).count() == 0


def test_a_row_changed_on_both_branches_in_commits_of_one_number_is_a_change(main, orders):
    """Sequence numbers count on each line: the merged row and the row that it replaces may have the same."""
    dev = main.create_branch("dev")
    dev.table("s.orders").update({"v": "'dev'"}, "id = 0")
    orders.update({"v": "'main'"}, "id = 0")
    assert fed(orders.changes(dev.table("s.orders"))) == [(BEFORE, 0, "dev"), (AFTER, 0, "main")]
    assert fed(dev.table("s.orders").changes(orders)) == [(BEFORE, 0, "main"), (AFTER, 0, "dev")]
    main.merge(dev, strategy="theirs")
    assert fed(orders.changes(-1)) == [(BEFORE, 0, "main"), (AFTER, 0, "dev")]
    assert orders.changes(-1).count() == 2


def test_a_row_that_came_with_a_number_that_this_line_reaches_later_is_seen_to_change(main, orders, monkeypatch):
    """As in tables that merged before a commit's number was above those that it brings (decision 0030)."""
    monkeypatch.setattr(Delta, "greatest_sequence", 0)
    dev = main.create_branch("dev")
    for number in range(5):
        dev.table("s.orders").update({"v": "'dev'"}, f"id = {number}")
    main.merge(dev)
    sequences = {}
    for number in range(1, 5):  # the merge has the number of the first of them
        [row] = orders.scan(f"id = {number}", ["_last_updated_sequence_number"]).to_arrow().to_pylist()
        orders.update({"v": "'main'"}, f"id = {number}")
        sequences[row["_last_updated_sequence_number"]] = orders.snapshots()[0].sequence_number
        assert fed(orders.changes(-1)) == [(BEFORE, number, "dev"), (AFTER, number, "main")]
    assert all(before == after for before, after in sequences.items())


def test_a_feed_left_out_rows_that_a_merge_took_from_a_branch_whose_ids_were_younger(main, orders):
    """Both changed the rows in commits of one number, theirs in a cell more; theirs wrote its rows last."""
    dev = main.create_branch("dev")
    orders.update({"v": "'same'"}, "id = 0")
    dev.table("s.orders").update({"v": "'same'", "id": "100"}, "id = 0")
    main.merge(dev)
    assert fed(orders.changes(-1)) == [(BEFORE, 0, "same"), (AFTER, 100, "same")]


def test_a_merge_shows_what_it_brought_to_this_line(main, orders):
    dev = main.create_branch("dev")
    dev.table("s.orders").append(rows(7))
    dev.table("s.orders").delete("id = 1")
    orders.append(rows(8))
    main.merge(dev)
    assert fed(orders.changes(-1)) == [(DELETE, 1, "first"), (INSERT, 7, "first")]


def test_net_rows_are_those_that_are_not_as_they_were(orders):
    start = orders.version
    orders.append(rows(7, 8))
    orders.delete("id = 7")  # came and went
    orders.update({"v": "'once'"}, "id in (1, 2, 8)")
    orders.update({"v": "'first'"}, "id = 1")  # as it was
    orders.update({"v": "'twice'"}, "id = 2")
    orders.delete("id = 3")
    expected = [(BEFORE, 2, "first"), (AFTER, 2, "twice"), (DELETE, 3, "first"), (INSERT, 8, "once")]
    assert fed(orders.changes(start, net=True)) == expected
    newest = orders.history()[0].version
    assert set(orders.changes(start, net=True).to_arrow()["_commit_version"].to_pylist()) == {int(newest)}


def test_rows_are_shown_by_the_newer_schema(orders):
    start = orders.version
    orders.delete("id = 1")
    with orders.evolve() as change:
        change.rename_column("v", "w")
        change.add_column("n", "int", default=7)
        change.add_column("gone", "int")
    orders.append([{"id": 8, "w": "new", "n": 1}])
    with orders.evolve() as change:
        change.widen_column("n", "long")
        change.drop_column("gone")
    assert fed(orders.changes(start)) == [(DELETE, 1, "first", 7), (INSERT, 8, "new", 1)]
    assert orders.changes(-1).count() == 0  # a column that is added is not a change of rows


def test_a_feed_across_a_restored_schema_has_the_wider_type(orders):
    start = orders.version
    with orders.evolve() as change:
        change.add_column("n", "int")
    narrow = orders.version
    orders.append([{"id": 7, "v": "x", "n": 1}])
    with orders.evolve() as change:
        change.widen_column("n", "long")
    orders.append([{"id": 8, "v": "x", "n": 1 << 40}])
    orders.restore(narrow)
    feed = orders.changes(start)
    assert feed.to_arrow()["n"].to_pylist() == [1, 1 << 40, 1, 1 << 40]
    assert [kind for kind, *_ in fed(feed)] == [INSERT, INSERT, DELETE, DELETE]


def test_a_feed_through_a_transaction_ends_where_it_began(main, orders):
    start = orders.version
    orders.append(rows(7))
    with main.transaction("read") as transaction:
        transaction.table("s.orders").append(rows(8))
        assert fed(transaction.table("s.orders").changes(start)) == [(INSERT, 7, "first")]
        orders.append(rows(9))  # which is not a conflict: the feed's past can't change
    assert orders.scan().count() == 8


def test_the_past_of_a_purged_table_is_expired_never_fewer_rows(main, orders):
    start = orders.version
    orders.append(rows(7))
    kept = orders.changes(start)
    past = orders.at(orders.version)
    main.drop_table("s.orders")
    with pytest.raises(NotFound):
        orders.changes(start)
    assert past.changes(start).count() == 1
    main.purge_table("s.orders")
    with pytest.raises(Expired):
        past.changes(start)
    with pytest.raises(Expired):
        kept.to_arrow()


def test_a_share_feeds_what_it_shows(main, orders):
    start = orders.version
    orders.append(rows(7))
    share = main.create_share("open", ["s.orders"])
    assert fed(share.table("s.orders").changes(start)) == [(INSERT, 7, "first")]


def test_a_feed_of_a_dropped_and_undropped_table_has_no_more_than_its_rows(main, orders):
    start = orders.version
    main.drop_table("s.orders")
    dropped = main.version
    main.undrop_table("s.orders")
    orders.append(rows(7))
    assert fed(orders.changes(start)) == fed(orders.changes(dropped)) == [(INSERT, 7, "first")]


def test_what_is_not_a_state_of_the_table_is_refused(main, orders):
    other = main.create_table("s.other", {"id": "long"})
    with pytest.raises(Invalid, match="a feed is of one table"):
        orders.changes(other)
    with pytest.raises(Invalid, match="net is True or False"):
        orders.changes(-1, net="yes")
    for since in ("never", None, main, int(main.version) + 1):
        with pytest.raises(Invalid):
            orders.changes(since)
    for ends in ((int(main.version) + 1,), (main.version, 1), (None,)):
        with pytest.raises(Invalid):
            main.changes(*ends)
    with pytest.raises(TypeError):
        orders.changes()


def test_a_column_with_the_name_of_one_of_the_feed_has_to_be_left_out(main):
    table = main.create_table("odd", {"id": "long", "_change_type": "string"})
    table.append([{"id": 1, "_change_type": "x"}])
    with pytest.raises(Invalid, match="the name of a column of the feed"):
        table.changes(-1)
    assert table.changes(-1, columns=["id"]).count() == 1


def test_a_catalog_lists_the_tables_that_changed_with_their_counts(main, orders, opened):
    start = main.version
    other = main.create_table("s.other", {"id": "long"})
    quiet = main.create_table("s.quiet", {"id": "long"})
    with main.transaction("both") as transaction:
        transaction.table("s.orders").append(rows(7, 8))
        transaction.table("s.other").append([{"id": 1}])
    orders.delete("id = 7")
    other.compact()
    quiet.set_comment("nothing")
    opened.clear()
    found = main.changes(start)
    assert [(one.name, one.commits, one.added_rows, one.removed_rows) for one in found] == [
        ("s.orders", 2, 2, 1),
        ("s.other", 1, 1, 0),
    ]
    assert str(found[1]) == f"s.other: +1 -0 rows in 1 commit, {found[1].first} to {found[1].last}"
    assert main.changes(start, found[1].last)[0].commits == 1
    assert main.changes(main.version) == []
    assert opened == []


def test_a_feed_explains_what_it_reads_and_shows_its_first_rows(orders, in_files):
    start = orders.version
    orders.append(rows(7))
    orders.compact()
    feed = orders.changes(start)
    assert feed.explain().splitlines()[0].startswith("1 with changed rows, of 2 commits; reads 1 file (")
    assert feed.explain().splitlines()[1].endswith("1 rows came, 0 went")
    assert repr(feed).startswith(f"Changes from {start} to ")
    assert "insert" in feed._repr_html_()
    assert pa.table(feed)["id"].to_pylist() == [7]
    assert feed.to_batches().read_all().num_rows == 1


def test_nested_values_that_did_not_change_are_not_changes(main):
    table = main.create_table("nested", {"id": "long", "many": "list<struct<a: long, b: double>>", "x": "double"})
    table.append([{"id": 1, "many": [{"a": 1, "b": float("nan")}], "x": float("nan")}, {"id": 2, "many": None}])
    start = table.version
    table.update({"x": "x"}, "id = 1")
    table.update({"many": "null"}, "id = 2")
    assert table.changes(start).count() == 4
    assert table.changes(start, net=True).count() == 0


def test_help_names_the_columns():
    assert "_change_type" in (lakebed.Changes.__doc__ or "")


def test_a_feed_across_an_activation_shows_one_edition_go_and_the_other_come(main):
    main.create_namespace("e")
    table = main.create_table("e.t", {"id": "int", "v": "string", "n": "string"})
    table.append([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    start = table.version
    other = table.create_edition("2", schema={"id": "long", "w": "list<string>", "v": "string", "n": "long"})
    other.append([{"id": 7, "w": ["x"], "v": "y", "n": 1}])
    table.update({"v": "'c'"}, "id = 1")
    before = main.version
    table.activate("2")
    after = main.version
    table.append([{"id": 8}])
    assert fed(table.changes(start)) == [
        (BEFORE, 1, None, "a", None),
        (AFTER, 1, None, "c", None),
        (DELETE, 2, None, "b", None),
        (DELETE, 1, None, "c", None),
        (INSERT, 7, ["x"], "y", 1),
        (INSERT, 8, None, None, None),
    ]
    assert sorted(map(repr, fed(table.changes(start, net=True)))) == sorted(
        map(
            repr,
            [
                (DELETE, 1, None, "a", None),
                (DELETE, 2, None, "b", None),
                (INSERT, 7, ["x"], "y", 1),
                (INSERT, 8, None, None, None),
            ],
        )
    )
    assert fed(table.changes(start, before)) == [(BEFORE, 1, "a", None), (AFTER, 1, "c", None)]
    assert [row[:2] for row in fed(table.changes(after))] == [(INSERT, 8)]
    assert [row[:2] for row in fed(table.edition("2").changes(start))] == [(INSERT, 7), (INSERT, 8)]


def test_net_rows_of_an_activation_have_its_commit(main):
    """They had the last one that wrote to the edition, which may be from before the feed begins."""
    table = main.create_table("t", {"id": "long"})
    table.append([{"id": 1}])
    table.create_edition("2").append([{"id": 2}])
    start = main.version
    dev = main.create_branch("dev")
    activated = table.activate("2")
    net = table.changes(start, net=True).to_arrow().to_pylist()
    assert {int(row["_commit_version"]) for row in net} == {int(activated.version)}
    assert {row["_commit_timestamp"] for row in net} == {activated.time}
    between = table.changes(dev.table("t")).to_arrow().to_pylist()
    assert {int(row["_commit_version"]) for row in between} == {int(activated.version)}
    later = table.append([{"id": 3}])
    assert {int(row["_commit_version"]) for row in table.changes(start, net=True).to_arrow().to_pylist()} == {
        int(later.version)
    }


def test_a_feed_shows_rows_that_were_staged_when_they_are_swapped_in(main, orders):
    start = orders.version
    staged = orders.stage_stream()
    staged.append(rows(7))
    assert orders.changes(start).count() == 0
    staged.commit()
    assert sorted(row[0] for row in fed(orders.changes(start))) == [*[DELETE] * 5, INSERT]


def test_a_feed_of_explicit_partitions_shows_their_rows_go_and_come_back(main):
    table = main.create_table("parts", {"id": "long", "d": "string"}, partition_by=["d"])
    table.create_partition({"d": "a"})
    table.append([{"id": number, "d": "ab"[number % 2]} for number in range(4)])
    start = table.version
    table.drop_partition({"d": "a"})
    assert [row[:2] for row in fed(table.changes(start))] == [(DELETE, 0), (DELETE, 2)]
    table.undrop_partition({"d": "a"})
    assert [row[:2] for row in fed(table.changes(-1))] == [(INSERT, 0), (INSERT, 2)]
    assert table.changes(start, net=True).count() == 0


def test_a_staged_stream_does_not_answer_an_empty_feed(orders):
    start = orders.version
    staged = orders.stage_stream()
    staged.append(rows(7))
    for feed in (
        lambda: staged.changes(start),
        lambda: staged.changes(since=orders),
        lambda: orders.changes(since=staged),
        lambda: orders.changes(start, until=staged),
    ):
        with pytest.raises(Invalid, match="can't be called on what is staged"):
            feed()


def test_rows_that_are_only_staged_are_not_counted_as_changes(main, orders):
    table = main.create_table("s.days", {"id": "long", "day": "string"}, partition_by=["day"])
    start = main.version
    stream, partition = orders.stage_stream(), table.stage_partition({"day": "a"})
    stream.append(rows(7))
    gone = orders.stage_stream()
    gone.append(rows(8))
    gone.discard()
    partition.append([{"id": 1}])
    assert main.changes(start) == []
    stream.commit()
    partition.commit()
    assert [(one.name, one.commits, one.added_rows, one.removed_rows) for one in main.changes(start)] == [
        ("s.days", 1, 1, 0),
        ("s.orders", 1, 1, 5),
    ]


@pytest.mark.parametrize("pinned", [False, True], ids=["newest", "at a version"])
def test_a_feed_since_a_handle_of_a_purged_branch_is_expired(main, orders, pinned):
    dev = main.create_branch("dev")
    dev.table(orders.name).append([{"id": 99}])
    handle = dev.at(dev.version).table(orders.name) if pinned else dev.table(orders.name)
    main.drop_branch("dev")
    if not pinned:
        with pytest.raises(NotFound):
            orders.changes(since=handle)  # it can still be undropped
    main.purge_branch("dev")
    with pytest.raises(Expired):
        orders.changes(since=handle).count()
