"""Merges, picks, reverts and resets of what was purged, before or meanwhile."""

from uuid import uuid4

import pyarrow
import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Expired
from lakebed.catalog.transaction import scopes
from lakebed.metastore import Change
from lakebed.metastore import Commit as StoredCommit


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(line: Catalog, name: str) -> list[int]:
    return sorted(line.table(name).scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def before_the_merge(lake, monkeypatch):
    """Do something once, when a merge is decided and not yet committed."""

    def before_the_merge(do):
        metastore, waiting = lake._context.metastore, [do]
        commit = metastore.commit

        def late(change: Change) -> StoredCommit:
            if change.parents and waiting:
                waiting.pop()()
            return commit(change)

        monkeypatch.setattr(metastore, "commit", late)

    return before_the_merge


def purge(line: Catalog, name: str) -> None:
    line.drop_table(name)
    line.purge_table(name)


def test_a_merge_brought_a_table_whose_files_were_purged_meanwhile(main, before_the_merge):
    dev = main.create_branch("dev")
    dev.create_table("t", {"id": "long"}).append(rows(1))
    before_the_merge(lambda: purge(dev, "t"))
    with pytest.raises(Expired, match="purged"):
        main.merge(dev)
    assert not main.table_exists("t")
    main.merge(dev)
    assert not main.table_exists("t")


def test_a_merge_brought_back_a_table_whose_files_were_purged_meanwhile(main, before_the_merge):
    main.create_table("t", {"id": "long"}).append(rows(1))
    main.drop_table("t")
    dev = main.create_branch("dev")
    dev.undrop_table("t")
    before_the_merge(lambda: purge(dev, "t"))
    with pytest.raises(Expired, match="purged"):
        main.merge(dev)
    assert not main.table_exists("t")


def test_branches_could_never_merge_again_after_a_purge_of_what_was_dropped_at_the_fork(main):
    main.create_namespace("s")
    main.create_table("s.t", {"id": "long"})
    main.create_table("s.u", {"id": "long"})
    main.drop_table("s.t")
    main.drop_namespace("s", cascade=True)
    dev = main.create_branch("dev")
    dev.create_table("x", {"id": "long"})
    main.purge_namespace("s")
    main.create_table("y", {"id": "long"})
    assert {one.name for one in main.diff(dev)} == {"x", "y"}
    main.merge(dev)
    dev.merge(main)
    assert {one.name for one in main.tables()} == {one.name for one in dev.tables()} == {"x", "y"}


def test_branches_could_never_merge_again_after_a_purge_of_what_both_had_dropped(main):
    dev = main.create_branch("dev")
    main.create_table("t", {"id": "long"})
    dev.merge(main)
    for line in (dev, main):
        line.drop_table("t")
    main.purge_table("t")
    dev.create_table("x", {"id": "long"})
    main.merge(dev)
    main.create_table("y", {"id": "long"})
    dev.merge(main)
    assert {one.name for one in dev.tables()} == {"x", "y"}


@pytest.mark.parametrize("back", ["revert", "reset"])
def test_going_back_into_a_purged_namespace_ended_in_a_python_error_or_a_riddle(main, unchanged, back):
    main.create_namespace("s")
    main.create_table("s.t", {"id": "long"})
    version = main.version
    renamed = main.rename_table("s.t", "t")
    main.drop_namespace("s")
    main.purge_namespace("s")
    with unchanged(), pytest.raises(Expired, match="purged"):
        main.revert(renamed) if back == "revert" else main.reset(version)


@pytest.mark.parametrize("call", ["revert", "cherry_pick"])
def test_a_commit_of_a_purged_branch_was_undone_or_picked_to_no_effect_without_a_word(main, unchanged, call):
    main.create_table("t", {"id": "long"})
    dev = main.create_branch("dev")
    loaded = dev.table("t").append(rows(1))
    main.merge(dev)
    main.drop_branch("dev")
    main.purge_branch("dev")
    with unchanged(), pytest.raises(Expired, match="dev"):
        getattr(main, call)(loaded)


def test_branches_that_had_merged_a_branch_lost_their_base_with_its_purge(main):
    main.create_table("t", {"id": "long"}).append(rows(0))
    other, dev = main.create_branch("other"), main.create_branch("dev")
    dev.rename_table("t", "u")
    dev.create_table("n", {"id": "long"}).append(rows(1))
    main.merge(dev)
    other.merge(dev)
    main.drop_branch("dev")
    main.purge_branch("dev")
    other.rename_table("n", "n2")
    other.table("n2").append(rows(2))
    main.table("n").append(rows(3))
    other.table("u").append(rows(4))
    main.merge(other)
    assert (ids(main, "n2"), ids(main, "u")) == ([1, 2, 3], [0, 4])


def test_a_change_that_was_undone_came_back_by_a_merge_after_the_purge_of_a_branch_that_both_had_merged(main):
    main.create_table("t", {"id": "long"})
    other, dev = main.create_branch("other"), main.create_branch("dev")
    deep = dev.create_branch("deep")
    deep.table("t").set_properties({"k": "v"})
    for line in (main, other):
        line.merge(deep)
    for name in ("deep", "dev"):
        main.drop_branch(name)
        main.purge_branch(name)
    main.table("t").unset_properties(["k"])
    other.merge(main)
    assert other.table("t").properties == {}
    with pytest.raises(Expired):
        deep.at(deep._line.ref.line.ancestry[0].version).tables()


def test_a_merge_that_came_again_failed_since_its_branch_was_dropped_meanwhile(main):
    main.create_table("t", {"id": "long"})
    dev = main.create_branch("dev")
    dev.table("t").append(rows(1))
    event = uuid4()
    first = main.merge(dev, event_id=event).commit
    main.drop_branch("dev")
    assert main.merge(dev, event_id=event).commit == first
    main.purge_branch("dev")
    assert main.merge(dev, event_id=event).commit == first


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def make(line, name, *rows):
    table = line.create_table(name, {"id": "long"})
    for row in rows:
        table.append(numbers(row))
    return table


def before_the_commit(monkeypatch, meanwhile):
    """Let something happen once between what the next call decides and its commit."""
    committed, happened = scopes._committed, []

    def late(*arguments):
        if not happened:
            happened.append(None)
            meanwhile()
        return committed(*arguments)

    monkeypatch.setattr(scopes, "_committed", late)
    return happened


def test_no_branches_could_be_merged_or_compared_after_a_purge(main):
    """Whether the branch forked after the drop, or both sides dropped it since they came apart."""
    kept = make(main, "kept")
    make(main, "t", 1)
    main.drop_table("t")
    dev = main.create_branch("dev")
    make(dev, "u", 1)
    main.merge(dev)
    for line in (main, dev):
        line.drop_table("u")
    main.purge_table("t")
    main.purge_table("u")
    dev.table("kept").append(numbers(1))
    kept.append(numbers(2))
    assert [one.name for one in main.diff(dev)] == ["kept"]
    main.merge(dev)
    assert kept.scan().count() == 2


def test_a_purged_branch_was_merged_as_if_it_had_nothing(main, unchanged):
    dev = main.create_branch("dev")
    make(dev, "t", 1)
    past = dev.at(dev.version)
    main.drop_branch("dev")
    main.purge_branch("dev")
    for call in (lambda: main.merge(past), lambda: main.diff(past), lambda: past.diff(main)):
        with unchanged(), pytest.raises(Expired):
            call()


def test_a_branch_that_was_purged_under_a_merge_was_merged_half(main, monkeypatch):
    dev = main.create_branch("dev")
    make(dev, "t", 1)
    past = dev.at(dev.version)
    main.drop_branch("dev")
    happened = before_the_commit(monkeypatch, lambda: main.purge_branch("dev"))
    with pytest.raises(Expired):
        main.merge(past)
    assert happened
    assert main.tables() == []


@pytest.mark.parametrize("inline_bytes", ["0", "64000"])
def test_a_lake_is_whole_after_a_table_and_a_branch_that_changed_it_were_purged(tmp_path, inline_bytes):
    """The rows of a merged branch stay, those of the purged table too: a check found them damaged, no backup worked."""
    with lakebed.connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": inline_bytes})
        table.append([{"id": 1}])
        dev = main.create_branch("dev")
        dev.table("t").append([{"id": 2}])
        main.merge(dev)
        main.drop_branch("dev")
        main.drop_table("t")
        main.purge_branch("dev")
        main.purge_table("t")
        assert lake.check() == []
        assert lake.check(deep=True) == []
        lake.backup(tmp_path / "copy")
