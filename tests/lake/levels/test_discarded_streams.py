"""Staged streams by their names, and those that were discarded: listed, brought back, merged, in the past."""

import pytest

from lakebed import AlreadyExists, Conflict, Invalid, NotFound, Stream


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long"})
    table.append([{"id": 1}])
    return table


@pytest.fixture
def staged(orders):
    stream = orders.stage_stream()
    stream.append([{"id": 5}])
    return stream


def test_a_discarded_stream_was_gone_for_good(lake, main, orders, staged):
    """Its rows could be read in the past alone. Now it comes back, staged as it was, and can be committed."""
    staged.discard()
    listed = [(row["state"], row["stream_id"]) for row in main.inspect("__streams").to_pylist()]
    assert listed == [("committed", orders.stream("parquet").stream_id), ("dropped", staged.stream_id)]
    assert [one.state for one in orders.streams()] == ["committed"]
    orders.undrop_stream(staged.stream_id, message="after all")
    assert (staged.state, ids(staged), ids(orders)) == ("staged", [5], [1])
    assert [commit.operations[0].type for commit in orders.history()][:3] == ["undrop", "drop", "insert"]
    staged.append([{"id": 6}])
    staged.commit()
    assert ids(orders) == [5, 6]
    assert lake.check() == []


def test_only_what_was_discarded_comes_back(main, orders, staged):
    with pytest.raises(AlreadyExists, match="not discarded"):
        orders.undrop_stream(staged.stream_id)
    for wrong in (orders.id, "00000000-0000-4000-8000-000000000000"):
        with pytest.raises(NotFound, match="discarded"):
            orders.undrop_stream(wrong)
    with pytest.raises(Invalid, match="id"):
        orders.undrop_stream("parquet")
    staged.discard()
    with pytest.raises(Invalid, match="staged"):
        orders.stage_stream().undrop_stream(staged.stream_id)
    second = orders.create_edition("2")
    with pytest.raises(NotFound):
        second.undrop_stream(staged.stream_id)
    other = main.create_table("other", {"id": "long"})
    with pytest.raises(NotFound):
        other.undrop_stream(staged.stream_id)


def test_rows_that_came_meanwhile_are_not_lost_to_one_that_came_back(orders, staged):
    staged.discard()
    orders.append([{"id": 2}])
    orders.undrop_stream(staged.stream_id)
    with pytest.raises(Conflict, match="would be lost"):
        staged.commit()


def test_a_branch_brings_back_what_the_other_discarded(main, orders, staged):
    staged.discard()
    dev = main.create_branch("dev")
    dev.table("sales.orders").undrop_stream(staged.stream_id)
    main.merge(dev)
    assert orders.stream(staged.stream_id).state == "staged"
    assert main.at(version=dev.version.previous()).inspect("__streams")["state"].to_pylist() == ["committed", "dropped"]


def test_a_staged_stream_is_opened_and_filled_by_its_name(lake, main, orders, staged):
    """Its name was in logs and errors, and led nowhere."""
    name = f"sales.orders.{staged.name[-1] if isinstance(staged.name, tuple) else staged.name.rpartition('.')[2]}"
    found = main.table(name)
    assert isinstance(found, Stream)
    assert (found.stream_id, found.state) == (staged.stream_id, "staged")
    found.append([{"id": 6}])
    query = f'SELECT sum(id) AS sum FROM sales.orders."stream_{staged.stream_id}"'
    assert lake.query(query).to_arrow().to_pylist() == [{"sum": 11}]
    with main.transaction() as tx:
        tx.table(name).append([{"id": 7}])
    assert repr(found) == f"Stream {name} @ main, 3 rows, version {main.version}"
    assert main.table_exists(name)
    second = orders.create_edition("2").stage_stream()
    assert main.table(f"sales.orders.edition_2.stream_{second.stream_id}").locator == second.locator
    main.table(name).commit()
    assert ids(orders) == [5, 6, 7]


@pytest.mark.parametrize("last", ["stream_", "stream_parquet", "stream_00000000-0000-4000-8000-000000000000", "Stream"])
def test_no_other_name_leads_to_a_stream(main, orders, staged, last):
    assert not main.table_exists(f"sales.orders.{last}")
    with pytest.raises(NotFound):
        main.table(f"sales.orders.{last}")
    committed = orders.stream("parquet").stream_id
    assert not main.table_exists(f"sales.orders.stream_{committed}")
    main.create_table(f"sales.stream_{staged.stream_id}", {"other": "int"})
    assert main.table(f"sales.stream_{staged.stream_id}").schema.names == ("other",)


def test_a_stream_that_was_discarded_after_its_commit_was_reverted_was_still_listed_as_staged(lake, main, orders):
    """And `usage` failed, because it asked for the files of a stream that was dropped."""
    before = main.version
    stream = orders.stage_stream()
    stream.append([{"id": 5}])
    main.revert(stream.commit())
    assert (ids(orders), stream.state, ids(stream)) == ([1], "staged", [5])
    orders.restore(before)
    assert [(one.state, one.rows) for one in orders.streams()] == [("committed", 1)]
    assert main.inspect("__streams")["state"].to_pylist() == ["committed", "dropped"]
    with pytest.raises(NotFound):
        orders.stream(stream.stream_id)
    lake.usage()
    assert lake.check() == []
    orders.undrop_stream(stream.stream_id)
    stream.commit(seen=orders.version)
    assert ids(orders) == [5]


def test_a_committed_stream_was_listed_twice_after_a_reset_to_before_it_was_staged(main, orders):
    """As deprecated and as dropped; and bringing it back was a commit that led to nothing."""
    before = main.version
    stream = orders.stage_stream()
    stream.append([{"id": 5}])
    committed = stream.commit()
    main.reset(before)
    assert main.inspect("__streams")["state"].to_pylist() == ["committed", "deprecated"]
    with pytest.raises(Invalid, match="committed, not discarded"):
        orders.undrop_stream(stream.stream_id)
    main.reset(committed.version)
    assert ids(orders) == [5]
