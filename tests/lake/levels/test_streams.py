"""Streams of a table: rows that are staged beside those that readers see, and replace them by one commit."""

from uuid import uuid4

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import AlreadyExists, Conflict, Invalid, NotFound


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(str(tmp_path / "lake"), author="ann") as opened:
        opened.catalog().create_namespace("sales")
        yield opened


@pytest.fixture
def main(lake):
    return lake.catalog()


@pytest.fixture
def orders(main):
    table = main.create_table("sales.orders", {"id": "long", "name": "string"}, primary_key=["id"])
    table.append(made(1, 2))
    return table


def made(*ids):
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{one}" for one in ids]})


def ids(table):
    return sorted(row["id"] for row in table.scan().to_arrow().to_pylist())


def states(table):
    return {one.id: one.state for one in table.streams()}


def test_a_table_is_born_with_one_committed_stream(orders):
    [first] = orders.streams()
    assert (first.state, first.format, first.previous, first.rows) == ("committed", "parquet", None, 2)
    assert first.canonical == f"sales|orders|1|{first.id}"
    assert ids(orders.stream("parquet")) == ids(orders.stream(first.id)) == [1, 2]
    assert orders.stream("parquet").stream_id == first.id


def test_a_staged_stream_is_filled_unseen_and_replaces_all_rows_by_one_commit(main, orders):
    [first] = orders.streams()
    staged = orders.stage_stream()
    staged.append(made(7, 8, 9))
    staged.delete("id = 7")
    staged.upsert(made(8, 10))
    staged.compact()
    assert (ids(orders), ids(staged), staged.state) == ([1, 2], [8, 9, 10], "staged")
    before = main.version
    commit = staged.commit(message="rebuilt")
    assert int(commit.version) == int(before) + 1
    assert (ids(orders), staged.state) == ([8, 9, 10], "committed")
    assert states(orders) == {first.id: "deprecated", staged.stream_id: "committed"}
    assert orders.stream("parquet").stream_id == staged.stream_id
    assert ids(orders.at(version=before)) == [1, 2]


def test_a_staged_stream_is_found_by_its_id_and_not_by_its_format(orders):
    given = str(uuid4())
    staged = orders.stage_stream(given)
    assert (staged.stream_id, orders.stream(given).state) == (given, "staged")
    assert orders.stream("parquet").stream_id != given
    staged.commit()
    assert orders.stream("parquet").stream_id == given
    with pytest.raises(AlreadyExists):
        orders.stage_stream(given)
    for wrong in ("orc", str(uuid4())):
        with pytest.raises(NotFound):
            orders.stream(wrong)
    with pytest.raises(Invalid):
        orders.stage_stream("seven")
    with pytest.raises(Invalid):
        orders.stream(7)


def test_row_ids_snapshots_and_sequences_stay_unique_and_grow_across_the_swap(orders):
    staged = orders.stage_stream()
    staged.append(made(7))
    orders.append(made(3))
    staged.append(made(8))
    staged.commit(seen=orders.version)
    orders.append(made(9))
    past = orders.snapshots()[::-1]
    assert [one.sequence_number for one in past] == [1, 2, 3, 4, 5]
    assert [one.id for one in past] == sorted({one.id for one in past})
    assert [one.previous_id for one in past] == [None, *(one.id for one in past[:-1])]
    rows = orders.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    earlier = orders.at(snapshot=past[2].id).scan(columns=["_row_id"]).to_arrow().to_pylist()
    found = [row["_row_id"] for row in (*rows, *earlier)]
    assert len(set(found)) == len(found) == 6


def test_rows_that_others_write_after_the_staging_are_never_lost_silently(orders):
    staged = orders.stage_stream()
    staged.append(made(7))
    orders.append(made(3))
    with pytest.raises(Conflict, match="would be lost"):
        staged.commit()
    assert (ids(orders), staged.state) == ([1, 2, 3], "staged")
    staged.append(made(3))
    staged.commit(seen=orders.version)
    assert ids(orders) == [3, 7]


def test_a_compaction_after_the_staging_is_no_reason_to_refuse_the_swap(orders):
    orders.append(made(3))
    staged = orders.stage_stream()
    staged.append(made(7))
    orders.compact()
    staged.commit()
    assert ids(orders) == [7]


def test_an_append_that_races_the_swap_is_made_again_on_the_new_rows_or_refused(main, orders):
    staged = orders.stage_stream()
    staged.append(made(7))
    with pytest.raises(Conflict), main.transaction("append") as tx:
        tx.table("sales.orders").append(made(3))
        staged.commit()
    assert ids(orders) == [7]
    other = orders.stage_stream()
    with pytest.raises(Conflict), main.transaction("swap") as tx:
        tx.table("sales.orders").stream(other.stream_id).commit()
        orders.append(made(4))
    assert ids(orders) == [4, 7]


def test_a_stream_that_was_committed_or_discarded_takes_no_more_rows(orders):
    staged, gone = orders.stage_stream(), orders.stage_stream()
    staged.commit()
    for call in (lambda: staged.append(made(3)), staged.commit, staged.discard):
        with pytest.raises(Invalid):
            call()
    gone.append(made(5))
    gone.discard()
    with pytest.raises(NotFound):
        gone.append(made(3))
    assert (ids(orders), len(orders.streams())) == ([], 2)
    with pytest.raises(Invalid, match="stage_stream"):
        orders.stream("parquet").commit()


def test_a_transaction_stages_fills_and_commits_a_stream_as_one_commit(main, orders):
    before = main.version
    with main.transaction("rebuild") as tx:
        table = tx.table("sales.orders")
        staged = table.stage_stream()
        staged.append(made(7, 8))
        assert (ids(table), ids(staged)) == ([1, 2], [7, 8])
        staged.commit()
        table.append(made(9))
        assert ids(table) == [7, 8, 9]
    assert int(main.version) == int(before) + 1
    assert ids(orders) == [7, 8, 9]


def test_columns_that_are_added_while_a_stream_is_staged_are_its_columns_too(orders):
    staged = orders.stage_stream()
    staged.append(made(7))
    with orders.evolve() as change:
        change.add_column("more", "int")
    staged.append([{"id": 8, "name": "x", "more": 3}])
    staged.commit()
    assert sorted(map(str, orders.scan().to_arrow().to_pylist())) == sorted(
        map(str, [{"id": 7, "name": "n7", "more": None}, {"id": 8, "name": "x", "more": 3}])
    )


def test_a_merge_brings_staged_and_committed_streams_over(main, orders):
    dev = main.create_branch("dev")
    theirs = dev.table("sales.orders")
    staged, swapped = theirs.stage_stream(), theirs.stage_stream()
    staged.append(made(5))
    swapped.append(made(7))
    swapped.commit()
    assert ids(orders) == [1, 2]
    main.merge(dev)
    assert (ids(orders), ids(orders.stream(staged.stream_id))) == ([7], [5])
    assert orders.stream("parquet").stream_id == swapped.stream_id
    assert main.diff(dev) == []
    orders.stream(staged.stream_id).append(made(6))
    staged.append(made(8))
    main.merge(dev)
    assert ids(orders.stream(staged.stream_id)) == [5, 6, 8]
    orders.append(made(9))
    with pytest.raises(Conflict, match="would be lost"):
        orders.stream(staged.stream_id).commit()


def test_a_swap_on_one_branch_and_an_append_on_another_conflict(main, orders):
    dev = main.create_branch("dev")
    staged = dev.table("sales.orders").stage_stream()
    staged.append(made(7))
    staged.commit()
    orders.append(made(3))
    with pytest.raises(Conflict):
        main.merge(dev)
    assert ids(orders) == [1, 2, 3]


def test_two_streams_that_are_committed_on_two_branches_conflict(main, orders):
    dev = main.create_branch("dev")
    for table, row in ((orders, 5), (dev.table("sales.orders"), 6)):
        staged = table.stage_stream()
        staged.append(made(row))
        staged.commit()
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    assert "stream" in [row.what for row in error.value.conflicts]
    main.merge(dev, strategy="theirs")
    assert 6 in ids(orders)


def test_an_edition_has_streams_of_its_own(main, orders):
    edition = orders.create_edition("2")
    staged = edition.stage_stream()
    staged.append(made(7))
    staged.commit()
    assert (ids(edition), ids(orders)) == ([7], [1, 2])
    assert staged.locator.canonical == f"sales|orders|2|{staged.stream_id}"
    rows = main.inspect("__streams").to_pylist()
    assert sorted((row["edition"], row["state"]) for row in rows) == [
        ("1", "committed"),
        ("2", "committed"),
        ("2", "deprecated"),
    ]


def test_staged_files_are_referred_to_and_copied_by_a_backup(lake, main, orders, tmp_path):
    orders.set_properties({"write.inline-bytes": "0"})
    staged = orders.stage_stream()
    staged.append(made(7))
    found = lake.check()
    assert (found, found.orphans) == ([], ())
    assert "orphaned" not in str(lake.usage())
    lake.backup(str(tmp_path / "copy"))
    with lakebed.connect(str(tmp_path / "copy"), create=False) as copy:
        table = copy.catalog().table("sales.orders")
        table.stream(staged.stream_id).commit()
        assert ids(table) == [7]


def test_a_reset_and_an_undrop_bring_staged_streams_back(main, orders):
    staged = orders.stage_stream()
    staged.append(made(7))
    then = main.version
    staged.commit()
    main.reset(then)
    assert (ids(orders), staged.state, ids(staged)) == ([1, 2], "staged", [7])
    main.drop_table("sales.orders")
    with pytest.raises(NotFound):
        staged.scan()
    main.undrop_table("sales.orders")
    staged.commit(seen=orders.version)
    assert ids(orders) == [7]


def test_the_same_event_id_stages_and_commits_once(orders):
    event, other = lakebed.event_id("stage"), lakebed.event_id("commit")
    staged = orders.stage_stream(event_id=event)
    assert orders.stage_stream(event_id=event).stream_id == staged.stream_id
    staged.append(made(7), event_id=lakebed.event_id("rows"))
    staged.append(made(7), event_id=lakebed.event_id("rows"))
    with pytest.raises(Invalid, match="another change"):
        orders.append(made(7), event_id=lakebed.event_id("rows"))
    assert staged.commit(event_id=other).id == staged.commit(event_id=other).id
    assert ids(orders) == [7]


def test_a_version_in_the_future_does_not_lose_rows_that_were_appended_meanwhile(main, orders):
    staged = orders.stage_stream()
    staged.append(made(7))
    orders.append(made(3))
    for seen in (10**6, int(main.version) + 1, str(10**6)):
        with pytest.raises(Invalid, match="that version does not exist yet"):
            staged.commit(seen=seen)
    assert ids(orders) == [1, 2, 3]
    staged.commit(seen=orders.version)
    assert ids(orders) == [7]


@pytest.mark.parametrize("inline", ["0", "64000"])
def test_a_commit_does_not_leave_two_rows_of_one_primary_key(main, orders, inline):
    orders.set_properties({"write.inline-bytes": inline})
    staged = orders.stage_stream()
    staged.append(made(5))
    staged.append(made(5, 6))
    with pytest.raises(Invalid, match="primary key"):
        staged.commit()
    assert (ids(orders), staged.state) == ([1, 2], "staged")
    staged.delete("id = 5")
    staged.append(made(1))  # the table's own row of this key goes
    staged.commit()
    assert ids(orders) == [1, 6]
    with pytest.raises(Invalid, match="primary key"), main.transaction("all in one") as transaction:
        again = transaction.table("sales.orders").stage_stream()
        again.append(made(8))
        again.append(made(8))
        again.commit()
    assert ids(orders) == [1, 6]


def test_a_key_that_is_declared_while_a_stream_is_staged_is_kept_too(main):
    schema = lakebed.Schema([lakebed.Field("id", "long", required=True)])
    table = main.create_table("sales.late", schema)
    staged = table.stage_stream()
    staged.append([{"id": 1}, {"id": 1}])
    with table.evolve() as change:
        change.primary_key(["id"])
    with pytest.raises(Invalid, match="primary key"):
        staged.commit()


def test_a_staged_handle_does_not_change_the_table_at_once(main):
    table = main.create_table("sales.days", {"id": "long", "day": "string"}, partition_by=["day"])
    table.create_edition("2")
    table.create_partition({"day": "a"})
    staged = table.stage_stream()
    before = main.version
    calls = [
        staged.evolve,
        lambda: staged.set_properties({"owner": "ann"}),
        lambda: staged.unset_properties(["owner"]),
        lambda: staged.set_comment("x"),
        lambda: staged.set_storage(owner="ann"),
        lambda: staged.create_partition({"day": "b"}),
        lambda: staged.stage_partition({"day": "b"}),
        lambda: staged.partition({"day": "a"}),
        staged.partitions,
        lambda: staged.drop_partition({"day": "a"}),
        lambda: staged.undrop_partition({"day": "a"}),
        lambda: staged.create_edition("3"),
        lambda: staged.activate("2"),
        lambda: staged.set_edition_state("2", "beta"),
        lambda: staged.drop_edition("2"),
        lambda: staged.undrop_edition("2"),
        lambda: staged.consumer("mails"),
        lambda: staged.append([{"id": 1, "day": "a", "more": 1}], evolve="add"),
        lambda: staged.overwrite([{"id": 1, "day": "a", "more": 1}], evolve="add"),
    ]
    for call in calls:
        with pytest.raises(Invalid, match="can't be called on what is staged") as refused:
            call()
        assert "table" in refused.value.advice
    assert main.version == before
    assert (table.schema.names, table.properties) == (("id", "day"), {})
    table.stream("parquet").set_comment("the committed stream is the table")
    assert table.comment is not None
