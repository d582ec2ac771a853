"""Ids that callers give to editions, streams and partitions: one id is one object, on whatever line it was created."""

from uuid import uuid4

import pytest

import lakebed
from lakebed.errors import AlreadyExists, LakebedError


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(str(tmp_path / "lake")) as opened:
        yield opened


@pytest.fixture
def main(lake):
    return lake.catalog()


@pytest.fixture
def table(main):
    made = main.create_table("t", {"id": "long", "dt": "string"}, partition_by=["dt"])
    made.append([{"id": 1, "dt": "a"}, {"id": 2, "dt": "b"}])
    return made


CREATE = {
    "an edition": lambda table, id: table.create_edition("2", id=id),
    "a stream": lambda table, id: table.stage_stream(id=id),
    "a partition": lambda table, id: table.create_partition({"dt": "x"}, id=id),
    "a staged partition": lambda table, id: table.stage_partition({"dt": "a"}, id=id),
}

every_kind = pytest.mark.parametrize("create", CREATE.values(), ids=CREATE)


def born_with(table):
    [edition], [stream] = table.editions(), table.streams()
    return {"table": table.id, "edition": edition.id, "stream": stream.id, "root partition": table.partition().id}


@every_kind
@pytest.mark.parametrize("what", ["table", "edition", "stream", "root partition"])
def test_an_id_that_a_table_was_born_with_is_refused(lake, main, table, create, what):
    """Rows that were appended to a partition staged under the root's id were in the table at once."""
    other = main.create_table("other", {"id": "long", "dt": "string"}, partition_by=["dt"])
    taken = [born_with(table)[what]]
    if what in ("table", "root partition"):  # what has rows or columns of its own, of whatever table
        taken.append(born_with(other)[what])
    before = main.version
    for id in taken:
        with pytest.raises(AlreadyExists, match="an object has this id"):
            create(table, id)
    assert (main.version, lake.check()) == (before, [])
    table.create_edition("3")


@every_kind
@pytest.mark.parametrize("create_there", CREATE.values(), ids=CREATE)
def test_an_id_of_another_branch_is_refused(lake, main, table, create, create_there):
    """A merge took the two for one object: a partition lost its values, and rows of two streams were in one."""
    given, dev = str(uuid4()), main.create_branch("dev")
    create_there(dev.table("t"), given)
    before = main.version
    with pytest.raises(AlreadyExists, match="an object has this id"):
        create(table, given)
    with pytest.raises(AlreadyExists):
        create(dev.table("t"), given)
    assert main.version == before
    main.merge(dev)
    assert lake.check() == []


@every_kind
def test_an_id_that_was_made_on_another_branch_is_refused(main, table, create):
    dev = main.create_branch("dev")
    made = dev.table("t").create_partition({"dt": "y"})
    with pytest.raises(AlreadyExists, match="an object has this id"):
        create(table, made.id)


@every_kind
def test_an_id_whose_creation_failed_is_free(main, table, create):
    given = str(uuid4())

    def abandoned():
        with main.transaction() as tx:
            create(tx.table("t"), given)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        abandoned()
    with main.transaction() as tx:
        create(tx.table("t"), given)
    with pytest.raises(LakebedError):
        create(table, given)


def test_an_object_that_came_and_went_in_a_transaction_leaves_its_id_free(main, table):
    given = str(uuid4())
    with main.transaction() as tx:
        tx.table("t").stage_partition({"dt": "a"}, id=given).discard()
    assert table.create_partition({"dt": "a"}, id=given).id == given


@every_kind
def test_a_call_that_comes_again_is_not_refused_for_its_own_id(table, create):
    given, event = str(uuid4()), lakebed.event_id("once")
    calls = {
        CREATE["an edition"]: lambda: table.create_edition("2", id=given, event_id=event),
        CREATE["a stream"]: lambda: table.stage_stream(id=given, event_id=event),
        CREATE["a partition"]: lambda: table.create_partition({"dt": "x"}, id=given, event_id=event),
        CREATE["a staged partition"]: lambda: table.stage_partition({"dt": "a"}, id=given, event_id=event),
    }
    assert calls[create]().id == calls[create]().id
