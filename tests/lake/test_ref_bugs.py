"""Defects of refs, shares, undrop and purge that users met once, each named after what it did to them."""

import pyarrow
import pytest

from lakebed import Expired, Forbidden, Invalid, Lake, NotFound, event_id
from lakebed.catalog.refs.catalogs import open_project
from lakebed.catalog.transaction import scopes
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore


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


# Purge


@pytest.mark.parametrize("call", ["undrop", "undrop by id", "revert", "reset"])
def test_a_table_that_came_back_on_one_branch_while_another_purged_it_was_alive_without_its_data(
    main, monkeypatch, call
):
    table = make(main, "t", 1)
    before = main.version
    main.drop_table("t")
    drop = main.log(limit=1)[0]
    dev = main.create_branch("dev")
    calls = {
        "undrop": lambda: main.undrop_table("t"),
        "undrop by id": lambda: main.undrop_table("t", id=table.id, as_name="u"),
        "revert": lambda: main.revert(drop),
        "reset": lambda: main.reset(before),
    }
    happened = before_the_commit(monkeypatch, lambda: dev.purge_table("t"))
    with pytest.raises(Expired):
        calls[call]()
    assert happened
    assert main.tables() == []


def test_a_namespace_that_came_back_while_a_branch_purged_it_held_tables_without_data(main, monkeypatch):
    main.create_namespace("n")
    make(main, "n.t", 1)
    main.drop_namespace("n", cascade=True)
    dev = main.create_branch("dev")
    happened = before_the_commit(monkeypatch, lambda: dev.purge_namespace("n"))
    with pytest.raises(Expired):
        main.undrop_namespace("n")
    assert happened
    assert not main.namespace_exists("n")


def test_an_undropped_namespace_held_a_table_that_another_branch_had_purged(main, unchanged):
    dev = main.create_branch("dev")
    dev.create_namespace("n")
    make(dev, "n.t", 1)
    main.merge(dev)
    dev.drop_namespace("n", cascade=True)
    main.drop_table("n.t")
    with unchanged(), pytest.raises(Invalid, match=r"'dev', in a namespace that was dropped"):
        main.purge_table("n.t")
    dev.undrop_namespace("n")
    assert dev.table("n.t").scan().count() == 1
    dev.drop_table("n.t")
    main.purge_table("n.t")


def test_a_namespace_that_is_purged_whole_is_in_nobodys_way(main):
    main.create_namespace("n")
    make(main, "n.t", 1)
    main.drop_namespace("n", cascade=True)
    dev = main.create_branch("dev")
    main.purge_namespace("n")
    with pytest.raises(Expired):
        dev.undrop_namespace("n")


def test_a_purge_of_a_table_that_is_alive_answered_an_old_purge(main, unchanged):
    make(main, "t")
    main.drop_table("t")
    main.purge_table("t")
    again = make(main, "t", 1)
    with unchanged(), pytest.raises(Invalid, match="not dropped"):
        main.purge_table("t")
    assert again.scan().count() == 1


def test_a_purge_by_id_answered_whatever_the_name_the_kind_and_the_catalog_were(lake, main, unchanged):
    table = make(main, "t")
    main.drop_table("t")
    commit = main.purge_table("t")
    other = lake.create_catalog("other")
    for call in (
        lambda: main.purge_table("u", id=table.id),
        lambda: main.purge_view("t", id=table.id),
        lambda: other.purge_table("t", id=table.id),
    ):
        with unchanged(), pytest.raises(NotFound):
            call()
    assert main.purge_table("t", id=table.id) == commit


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


# Purged branches


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


def test_a_pinned_branch_of_a_dropped_catalog_could_be_read_and_not_described(lake):
    catalog = lake.create_catalog("c")
    same = event_id("tag")
    dev = catalog.create_branch("dev")
    pinned, tag = dev.at(dev.version), dev.create_tag("tag", event_id=same)
    lake.drop_catalog("c", cascade=True)
    assert [pinned.ref, tag.ref] == ["dev", "tag"]
    assert pinned.describe().startswith("catalog c@dev")
    assert tag.describe().startswith("catalog c@tag")
    assert dev.create_tag("tag", event_id=same) == tag


# Shares


def test_a_share_told_of_the_branches_that_were_merged(main):
    make(main, "t")
    dev = main.create_branch("dev")
    dev.table("t").append(numbers(1))
    main.table("t").append(numbers(2))
    main.merge(dev)
    share = main.create_share("share", "t")
    assert share.log(limit=1)[0].operations[0].type == "merge_branch"
    assert share.log(limit=1)[0].parents == ()
    assert share.inspect("__commits")["parents"].to_pylist()[0] == []


def test_a_share_told_whether_there_is_a_commit_of_an_id(main):
    make(main, "t")
    share = main.create_share("share", "t")
    for commit in (main.log(limit=1)[0].id, event_id("none")):
        for call in (share.cherry_pick, share.revert):
            with pytest.raises(Forbidden):
                call(commit)
    for version in (main.version, 10**6):
        with pytest.raises(Forbidden):
            share.reset(version)


def test_a_share_had_no_newest_commit_when_many_hidden_ones_came_after_it(main):
    make(main, "t")
    hidden = main.create_namespace("hidden")
    share = main.create_share("share", "t")
    for number in range(201):
        hidden.set_properties({"number": str(number)})
    page = share.log(limit=1)
    assert ([one.type for one in page[0].operations], page.token) == (["create"], None)
    assert "changed" in share.describe()


# Ids and projects


def test_a_call_in_one_project_answered_for_the_same_call_in_another(store, folder):
    metastore = RecordsMetastore(store)
    homes = [
        Context(metastore, LocalFiles(folder), Bodies(metastore), open_project(metastore, name, "ada"))
        for name in ("one", "two")
    ]
    one, two = (Lake(context) for context in homes)
    same = event_id("again")
    one.drop_catalog("default", event_id=same)
    with pytest.raises(Invalid, match="event id"):
        two.drop_catalog("default", event_id=same)
    assert two.catalog_exists("default")


def test_a_dropped_branch_was_not_found_by_its_id_in_capitals(main, unchanged):
    dev = main.create_branch("dev")
    main.drop_branch("dev")
    for wrong in ("nonsense", "", 5):
        with unchanged(), pytest.raises(Invalid, match="not an id"):
            main.undrop_branch("dev", id=wrong)
    main.undrop_branch("dev", id=dev._line.ref.line.id.upper())
    table = make(main, "t")
    main.drop_table("t")
    commit = main.undrop_table("t", id=table.id.upper())
    assert commit.operations[0].object_id == table.id


def test_columns_that_are_no_list_were_a_type_error(main):
    with pytest.raises(Invalid, match="list"):
        main.inspect("__tables", columns=5)
    with pytest.raises(Invalid, match="column"):
        main.inspect("__tables", columns=[5])
