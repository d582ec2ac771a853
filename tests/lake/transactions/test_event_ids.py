"""The same call with the same event id, once more: one commit, one effect, the first answer. Law 4."""

from uuid import UUID, uuid4

import pytest

import lakebed
from lakebed import AlreadyExists, Invalid, Lake, NotFound, event_id
from lakebed.catalog.refs.catalogs import open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.grown_lakes import grown_store, held_in
from tests.support.mutations import CALLS, numbers


def ids(table):
    return table.scan().to_arrow()["id"].to_pylist()


@pytest.fixture
def store(request):
    """An empty one, or that of the small lake for tests that hold it."""
    with grown_store() if "held" in request.fixturenames else MemoryStore() as store:
        yield store
        assert check(store) == []


@pytest.fixture
def held(lake):
    return held_in(lake)


every_call = pytest.mark.parametrize("call", CALLS)


@every_call
def test_a_call_that_comes_again_answers_what_it_answered_and_changes_nothing(held, unchanged, call):
    event = event_id("once", call)
    first = CALLS[call](held, event_id=event)
    for again in (event, UUID(event), event.upper()):
        with unchanged():
            assert CALLS[call](held, event_id=again) == first


@pytest.mark.sampled(3)
@every_call
def test_a_call_that_comes_again_answers_the_same_though_much_has_changed_since(held, unchanged, call):
    """Looked up before anything else is checked: the names that it used are gone, or taken by others."""
    event = event_id(call)
    first = CALLS[call](held, event_id=event)
    for namespace in held.main.namespaces():
        held.main.drop_namespace(namespace.name, cascade=True)
    held.main.create_namespace("sales")
    held.main.create_table("sales.new", {"other": "string"})
    with unchanged():
        assert CALLS[call](held, event_id=event) == first


@pytest.mark.sampled(3)
@every_call
def test_an_event_id_stands_for_one_call_only(held, unchanged, call):
    event = str(uuid4())
    held.main.create_namespace("taken", event_id=event)
    with unchanged(), pytest.raises(Invalid, match="event id belongs to another change"):
        CALLS[call](held, event_id=event)


def test_the_same_call_with_other_arguments_is_another_call(main, unchanged):
    event = event_id("arguments")
    main.create_table("t", {"id": "long"}, event_id=event)
    others = [
        lambda: main.create_table("u", {"id": "long"}, event_id=event),
        lambda: main.create_table("t", {"id": "int"}, event_id=event),
        lambda: main.create_table("t", {"id": "long"}, properties={"a": "b"}, event_id=event),
        lambda: main.create_table("t", {"id": "long"}, comment="c", event_id=event),
    ]
    for other in others:
        with unchanged(), pytest.raises(Invalid, match="belongs to another change"):
            other()


def test_the_same_call_on_another_line_is_another_call(main, unchanged):
    dev = main.create_branch("dev")
    event = event_id("line")
    main.create_namespace("n", event_id=event)
    with unchanged(), pytest.raises(Invalid, match="belongs to another change"):
        dev.create_namespace("n", event_id=event)


def test_an_append_that_comes_again_writes_no_file_and_does_not_look_at_its_data(main, unchanged):
    """A retry after a crash may come without the data."""
    table = main.create_table("t", {"id": "long"})
    event = event_id("append")
    first = table.append(numbers(1), event_id=event)
    with unchanged():
        assert table.append(None, event_id=event) == first
    assert ids(table) == [1]


def test_a_transaction_that_comes_again_reads_what_it_read_then(main, unchanged):
    table = main.create_table("t", {"id": "long"})
    event = event_id("transaction")

    def double(tx):
        seen = ids(tx.table("t"))
        tx.table("t").append(numbers(len(seen)))
        tx.create_namespace(f"n{len(seen)}")
        return seen

    with main.transaction("double", event_id=event) as tx:
        first = double(tx)
    table.append(numbers(7))
    with unchanged(), main.transaction("double", event_id=event) as again:
        assert double(again) == first
    assert again.committed == tx.committed
    assert ids(table) == [0, 7]


def test_a_transaction_that_failed_may_come_again(main):
    table = main.create_table("t", {"id": "long"})
    event = event_id("retry")
    with pytest.raises(NotFound), main.transaction("load", event_id=event) as tx:
        tx.table("t").append(numbers(1))
        tx.table("none")
    with main.transaction("load", event_id=event) as tx:
        tx.table("t").append(numbers(1))
    assert (tx.committed.id, ids(table)) == (event, [1])


def test_without_an_event_id_the_same_call_is_made_again(main):
    table = main.create_table("t", {"id": "long"})
    assert table.append(numbers(1)).id != table.append(numbers(1)).id
    assert ids(table) == [1, 1]
    with pytest.raises(AlreadyExists):
        main.create_table("t", {"id": "long"})


@pytest.mark.parametrize("bad", ["", "17", "not a uuid", 17, b"x" * 16, "0" * 31])
def test_what_is_no_event_id_is_refused(held, unchanged, bad):
    for call in CALLS.values():
        with unchanged(), pytest.raises(Invalid, match="not an event id"):
            call(held, event_id=bad)


def test_a_transaction_that_comes_again_sees_what_it_does(main, unchanged):
    """It used to see none of its appends the second time: a transaction that checked its work failed when repeated."""
    main.create_table("t", {"id": "long"})
    event = event_id("checked")

    def load():
        with main.transaction("load", event_id=event) as tx:
            tx.table("t").append(numbers(1, 2))
            assert tx.table("t").scan().count() == 2
        return tx.committed

    first = load()
    with unchanged():
        assert load() == first


def test_a_transaction_that_comes_again_may_say_why_in_other_words(main):
    event = event_id("words")
    commits = []
    for message in ("load at noon", "load again"):
        with main.transaction(message, event_id=event) as tx:
            tx.create_namespace("n")
        commits.append(tx.committed)
    assert commits[0] == commits[1]
    assert commits[0].message == "load at noon"


def test_two_projects_that_use_one_event_id_do_not_get_each_others_catalog(tmp_path):
    """The second project used to get a handle of the first one's catalog."""
    event = event_id("setup")
    with lakebed.connect(tmp_path / "lake") as one, lakebed.connect(tmp_path / "lake", project="other") as other:
        one.create_catalog("sales", event_id=event).create_namespace("secret")
        with pytest.raises(Invalid):
            other.create_catalog("sales", event_id=event)


def test_a_branch_at_a_time_that_comes_again_is_the_same_branch(main):
    """What was given is compared, not the version that it stood for: that of a time may be told apart only later."""
    main.create_table("t", {"id": "long"})
    now = main.log(limit=1)[0].time
    event = event_id("branch")
    first = main.create_branch("dev", at=now, event_id=event)
    main.set_properties({"k": "v"})
    assert main.create_branch("dev", at=now, event_id=event) == first
    with pytest.raises(Invalid):
        main.create_branch("dev", at=main.version, event_id=event)


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
