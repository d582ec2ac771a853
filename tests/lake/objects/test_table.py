"""What people do to one table: create, open, rename, drop, append, scan; KV-2, 3, 5, 6, 11, 12 and 20."""

import itertools
import time
from datetime import UTC, datetime, timedelta

import pyarrow
import pytest

import lakebed
from lakebed import AlreadyExists, Field, Invalid, NotFound, Schema

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table, **asked):
    return table.scan(**asked).to_arrow()["id"].to_pylist()


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    return main.create_table("sales.orders", {"id": "long"})


def test_what_was_created_is_what_is_loaded(main):
    """KV-2."""
    main.create_namespace("sales")
    schema = Schema([Field("id", "long", required=True, comment="the key"), Field("tags", "list<string>")])
    made = main.create_table("sales.Orders", schema, properties={"owner": "ada"}, comment="what was bought")
    found = main.table("SALES.orders")
    assert found == made
    assert (found.id, found.name) == (made.id, "sales.Orders")
    assert (found.location, found.schema) == (made.location, made.schema)
    assert found.schema.names == ("id", "tags")
    assert [one.required for one in found.schema.fields] == [True, False]
    assert found.schema.fields[0].comment == "the key"
    assert [one.id for one in found.schema.fields] == [1, 2]
    assert found.properties == {"comment": "what was bought", "owner": "ada"}
    assert found.comment == "what was bought"


def test_a_new_table_has_one_empty_snapshot_without_a_parent(main, orders):
    """KV-2."""
    [first] = orders.snapshots()
    assert (first.operation, first.previous_id, first.sequence_number) == ("create", None, 1)
    assert (first.counts, first.totals) == ({}, {"files": 0, "rows": 0, "bytes": 0})
    assert first.version == orders.version == main.version
    assert ids(orders) == []


@pytest.mark.parametrize("name", ["sales.orders", "sales.ORDERS", ("sales", "Orders")])
def test_creating_a_name_that_is_there_changes_nothing(main, orders, unchanged, name):
    """KV-2."""
    orders.append(numbers(1))
    with unchanged(), pytest.raises(AlreadyExists, match="the name is taken"):
        main.create_table(name, {"other": "string"})
    assert (main.table("sales.orders").id, ids(orders)) == (orders.id, [1])


def test_tables_and_namespaces_share_names(main, orders, unchanged):
    """P2."""
    with unchanged(), pytest.raises(AlreadyExists, match="found a table"):
        main.create_namespace("sales.orders")
    with unchanged(), pytest.raises(AlreadyExists, match="found a namespace"):
        main.create_table("sales", {"id": "long"})
    with unchanged(), pytest.raises(AlreadyExists):
        main.rename_table("sales.orders", "sales")
    assert not main.namespace_exists("sales.orders")
    assert not main.table_exists("sales")


@pytest.mark.parametrize("name", ["sales.none", "none.orders", "orders", "sales", "sales.orders.more"])
def test_a_table_that_is_not_there_is_not_found_by_any_call(main, orders, unchanged, name):
    """KV-3."""
    calls = [
        lambda: main.table(name),
        lambda: main.drop_table(name),
        lambda: main.rename_table(name, "sales.new"),
        lambda: main.restore_table(name, main.version),
    ]
    if name != "sales":  # a log can be asked of a namespace
        calls.append(lambda: main.log(table=name))
    for call in calls:
        with unchanged(), pytest.raises(NotFound):
            call()
    assert not main.table_exists(name)


def test_a_table_that_was_dropped_is_not_found_by_any_call_of_its_handle(main, orders, unchanged):
    """KV-3, KV-12."""
    main.drop_table("sales.orders")
    calls = [
        lambda: orders.name,
        lambda: orders.schema,
        lambda: orders.properties,
        lambda: orders.location,
        lambda: orders.scan(),
        lambda: orders.snapshots(),
        lambda: orders.append(numbers(1)),
        lambda: orders.rename("sales.again"),
        lambda: orders.set_properties({"a": "b"}),
        lambda: orders.unset_properties(["a"]),
    ]
    for call in calls:
        with unchanged(), pytest.raises(NotFound, match="dropped"):
            call()


def test_a_commit_to_a_table_that_somebody_drops_meanwhile_is_not_found_and_leaves_no_file(main, orders, files):
    """KV-12: the rows are written, then the drop commits, then the append tries to."""

    def rows():
        yield from numbers(1).to_batches()
        main.drop_table("sales.orders")

    before = files()
    reader = pyarrow.RecordBatchReader.from_batches(numbers().schema, rows())
    with pytest.raises(NotFound, match="dropped"):
        orders.append(reader)
    assert files() == before


def test_appended_rows_are_there_in_order_with_those_before(orders):
    commits = [orders.append(numbers(*added)) for added in ([1, 2], [3], [4, 5])]
    assert ids(orders) == [1, 2, 3, 4, 5]
    assert [commit.operations[0].counts["added_rows"] for commit in commits] == [2, 1, 2]
    assert {commit.operations[0].type for commit in commits} == {"insert"}
    assert orders.snapshots()[0].totals["rows"] == 5


def test_an_append_of_no_rows_is_a_commit_that_adds_nothing(orders, files):
    before = files()
    commit = orders.append(numbers())
    assert (orders.version, orders.snapshots()[0].version) == (commit.version, commit.version)
    assert (ids(orders), orders.snapshots()[0].totals["files"], files()) == ([], 0, before)


def test_each_snapshot_still_lists_its_own_files(orders):
    """KV-5, KV-4 (append)."""
    seen = [orders.scan().files()]
    for number in range(3):
        orders.append(numbers(number))
        seen.append(orders.scan().files())
    assert [len(one) for one in seen] == [0, 1, 2, 3]
    for before, after in itertools.pairwise(seen):
        assert after[:-1] == before
    snapshots = orders.snapshots()[::-1]
    assert [orders.at(snapshot=one.id).scan().files() for one in snapshots] == seen
    assert [orders.at(version=one.version).scan().files() for one in snapshots] == seen


def test_a_snapshot_that_the_table_never_had_is_not_found_by_its_id(main, orders):
    """KV-5: none before the first and after the last, and none that only a branch has."""
    dev = main.create_branch("dev").table(orders.name)
    dev.append(numbers(1))
    orders.append(numbers(2))
    other, last = (table.snapshots()[0].id for table in (dev, orders))
    assert other < last
    for unknown in (-1, 0, other, last + 1):
        with pytest.raises(NotFound, match=f"there is no snapshot {unknown}"):
            orders.at(snapshot=unknown)


def test_a_time_shows_the_last_snapshot_up_to_it(orders):
    """KV-5."""
    commits = [orders.append(numbers(number)) for number in range(3)]
    for number, commit in enumerate(commits):
        # Times are microseconds and may be equal: what is shown then is the last of that time.
        same = sum(other.time <= commit.time for other in commits)
        assert ids(orders.at(time=commit.time)) == list(range(same))
        assert same > number
    assert ids(orders.at(commits[-1].time)) == [0, 1, 2]
    with pytest.raises(NotFound):
        orders.at(time=orders.snapshots()[-1].time - timedelta(days=1))


def test_a_snapshot_that_is_not_there_is_not_found(orders):
    """KV-5."""
    with pytest.raises(NotFound, match="no snapshot 17") as caught:
        orders.at(snapshot=17)
    assert orders.id in str(caught.value)


@pytest.mark.parametrize("asked", [{}, {"version": 1, "snapshot": 1}, {"version": 1, "time": datetime(2026, 1, 1)}])
def test_one_moment_is_named_and_not_two(orders, asked):
    with pytest.raises(Invalid, match="name one moment"):
        orders.at(**asked)


def test_the_chain_of_snapshots_leads_to_the_first(orders):
    """KV-6."""
    for number in range(4):
        orders.append(numbers(number))
    chain = orders.snapshots()
    assert [one.previous_id for one in chain] == [*(one.id for one in chain[1:]), None]
    assert [one.sequence_number for one in chain] == [5, 4, 3, 2, 1]
    assert len({one.id for one in chain}) == 5


def test_a_commit_is_answered_as_it_is_stored(main, orders):
    """KV-6: field by field."""
    commits = [
        orders.append(numbers(1), message="first", author="bob"),
        orders.set_properties({"a": "b"}),
        orders.unset_properties(["a"], author=""),
        orders.rename("sales.renamed", message="better"),
        main.drop_table("sales.renamed"),
    ]
    assert main.log(limit=5) == commits[::-1]
    assert [commit.author for commit in commits] == ["bob", "ada", "", "ada", "ada"]
    assert [commit.message for commit in commits] == ["first", "", "", "better", ""]


def test_a_table_is_the_same_when_the_lake_is_opened_again(tmp_path):
    """KV-20, KV-6."""
    with lakebed.connect(tmp_path / "lake", author="ada") as lake:
        orders = lake.catalog().create_table("orders", {"id": "long"}, properties={"a": "b"})
        for number in range(3):
            orders.append(numbers(number))
        seen = (orders.id, orders.schema, orders.properties, orders.location, orders.version, orders.snapshots())
        log, format_version = lake.catalog().log(), lake.format_version
    with lakebed.connect(tmp_path / "lake") as lake:
        orders = lake.catalog().table("orders")
        again = (orders.id, orders.schema, orders.properties, orders.location, orders.version, orders.snapshots())
        assert again == seen
        assert (lake.catalog().log(), lake.format_version) == (log, format_version)
        orders.append(numbers(3))
        chain = orders.snapshots()
        assert [one.sequence_number for one in chain] == [5, 4, 3, 2, 1]
        times = [one.time for one in chain]
        assert times == sorted(times, reverse=True)
        assert all(abs(datetime.now(UTC) - time) < timedelta(hours=1) for time in times)
        assert ids(orders) == [0, 1, 2, 3]


def test_a_renamed_table_keeps_its_id_its_past_and_its_rows(main, orders):
    """KV-11."""
    commits = [orders.append(numbers(number)) for number in range(2)]
    snapshots, location = orders.snapshots(), orders.location
    main.create_namespace("archive")
    main.rename_table("sales.orders", "archive.old")
    renamed = main.table("archive.old")
    assert renamed == orders
    assert (renamed.name, renamed.snapshots(), renamed.location) == ("archive.old", snapshots, location)
    assert ids(renamed) == [0, 1]
    assert ids(renamed.at(version=commits[0].version)) == [0]
    assert renamed.at(version=commits[0].version).name == "sales.orders"
    assert [one.operations[0].type for one in renamed.history()] == ["rename", "insert", "insert", "create"]
    with pytest.raises(NotFound):
        main.table("sales.orders")


def test_a_name_that_is_used_again_shows_nothing_of_the_table_that_had_it(main, orders):
    """KV-11, KV-12."""
    orders.append(numbers(1))
    orders.rename("sales.moved")
    second = main.create_table("sales.orders", {"id": "long"})
    assert (second.id != orders.id, ids(second), len(second.snapshots()), len(second.history())) == (True, [], 1, 1)
    main.drop_table("sales.orders")
    third = main.create_table("sales.orders", {"id": "long"})
    assert third.id not in (orders.id, second.id)
    assert (ids(third), len(third.snapshots()), len(third.history())) == ([], 1, 1)
    assert ids(main.table("sales.moved")) == [1]


def test_renaming_onto_a_name_that_is_taken_changes_nothing(main, orders, unchanged):
    """KV-11."""
    main.create_table("sales.items", {"id": "long"})
    for call in (lambda: orders.rename("sales.Items"), lambda: main.rename_table("sales.orders", "SALES.items")):
        with unchanged(), pytest.raises(AlreadyExists):
            call()
    with unchanged(), pytest.raises(NotFound, match="no namespace"):
        orders.rename("nowhere.orders")


def test_a_rename_may_change_the_case_alone_or_nothing(main, orders):
    orders.rename("sales.Orders")
    assert (orders.name, main.table("sales.orders").id) == ("sales.Orders", orders.id)
    orders.rename("sales.Orders")
    assert [one.name for one in main.tables("sales")] == ["sales.Orders"]


def test_names_that_begin_alike_do_not_meet(main):
    """KV-11."""
    tables = {}
    main.create_namespace("a")
    for number, name in enumerate(["a.b", "ab", ("a b",), ("a.b",), "a.bc"]):
        tables[name] = main.create_table(name, {"id": "long"})
        tables[name].append(numbers(number))
    for number, name in enumerate(tables):
        assert ids(main.table(name)) == [number]
        assert main.table(name).name == (name if name != ("a b",) else "a b")
    assert [one.name for one in main.tables("a", prefix="b")] == ["a.b", "a.bc"]


def test_a_dropped_table_is_readable_where_it_was(main, orders):
    """KV-12."""
    version = orders.append(numbers(1)).version
    main.drop_table("sales.orders")
    assert main.tables("sales") == []
    assert ids(main.at(version=version).table("sales.orders")) == [1]
    assert ids(orders.at(version=version)) == [1]
    with pytest.raises(NotFound):
        orders.at(version=main.version)


def test_a_scan_shows_the_table_as_it_was_when_it_was_asked_for(main, orders):
    orders.append(numbers(1))
    scan = orders.scan()
    orders.append(numbers(2))
    main.drop_table("sales.orders")
    assert scan.to_arrow()["id"].to_pylist() == [1]


def test_a_scan_filters_selects_and_limits(main):
    table = main.create_table("t", {"id": "long", "name": "string"})
    table.append(pyarrow.table({"id": [1, 2], "name": ["a", None]}))
    table.append(pyarrow.table({"ID": [3], "Name": ["c"]}))
    assert ids(table, where="id >= 2") == [2, 3]
    assert ids(table, where="name IS NULL") == [2]
    assert table.scan(columns=["name"], limit=2).to_arrow().to_pydict() == {"name": ["a", None]}
    assert (table.scan().count(), table.scan("id > 1").count(), table.scan("id > 5").count()) == (3, 2, 0)
    assert len(table.scan("id = 3").files()) == 1


@pytest.mark.parametrize("data", ["pandas", "batch", "reader"])
def test_rows_come_in_many_forms(orders, data):
    table = numbers(1, 2)
    forms = {"pandas": table.to_pandas(), "batch": table.to_batches()[0], "reader": table.to_reader()}
    orders.append(forms[data])
    assert ids(orders) == [1, 2]


def test_format_id_sequence_and_time_go_on_where_they_were_when_the_lake_is_opened_again(tmp_path, monkeypatch):
    """KV-20: each change of the files is the next sequence number, and no change is earlier than the one before."""
    deeds = [
        lambda table: table.append(numbers(1)),
        lambda table: table.set_properties({"a": "b"}),
        lambda table: table.append(numbers(2)),
        lambda table: table.rename("renamed"),
        lambda table: table.append(numbers()),
    ]
    with lakebed.connect(tmp_path / "lake") as lake:
        table = lake.catalog().create_table("t", {"id": "long"})
        documents, made = [table.describe().metadata()], table.id
    for deed in deeds:
        with lakebed.connect(tmp_path / "lake") as lake:
            table = next(iter(lake.catalog().tables()))
            assert table.describe().metadata() == documents[-1]
            commit = deed(table)
            documents.append(table.describe().metadata())
            assert documents[-1]["last-updated-ms"] == int(commit.time.timestamp() * 1_000_000) // 1000
        earlier = time.time_ns() - 3600 * 1_000_000_000
        monkeypatch.setattr(time, "time_ns", lambda earlier=earlier: earlier)  # the clock goes back, again and again
    assert {(one["format-version"], one["table-uuid"]) for one in documents} == {(2, made)}
    assert [one["last-sequence-number"] for one in documents] == [1, 2, 2, 3, 3, 4]
    updated = [one["last-updated-ms"] for one in documents]
    assert updated == sorted(updated)
