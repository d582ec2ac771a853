"""Objects that come back on one branch while another purges them."""

import pyarrow
import pytest

from lakebed import Expired, Invalid, NotFound
from lakebed.catalog.transaction import scopes


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
