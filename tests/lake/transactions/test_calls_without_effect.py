"""Calls that find nothing to change: they answer where the line stands, and commit only with an event id."""

from dataclasses import dataclass
from uuid import uuid4

import pyarrow
import pytest

import lakebed
from lakebed import Invalid, NotFound

NONE = pyarrow.table({"id": pyarrow.array([], pyarrow.int64()), "day": pyarrow.array([], pyarrow.string())})
OTHER = pyarrow.table({"id": [9], "day": ["z"]})


@dataclass(frozen=True)
class Held:
    """What the calls are made on."""

    main: object
    table: object
    empty: object
    version: object


@pytest.fixture
def held(main):
    table = main.create_table(
        "t", {"id": "long", "day": "string"}, primary_key=["id"], partition_by=["day"], properties={"a": "b"}
    )
    empty = main.create_table("empty", {"id": "long", "day": "string"})
    main.create_view("v", "select 1")
    main.set_properties({"owner": "ann"})
    table.append(pyarrow.table({"id": [1, 2], "day": ["x", "y"]}))
    return Held(main, table, empty, main.version)


def evolve_nothing(held, **told):
    with held.table.evolve(**told) as change:
        pass
    return change.committed


CALLS = {
    "delete": lambda held, **told: held.table.delete("id = 9", **told),
    "delete by a column of no file": lambda held, **told: held.table.delete("day > 'y'", **told),
    "update": lambda held, **told: held.table.update({"day": "'z'"}, "id = 9", **told),
    "upsert": lambda held, **told: held.table.upsert(NONE, **told),
    "merge": lambda held, **told: held.table.merge(OTHER, "id", lakebed.when_matched_update(), **told),
    "overwrite": lambda held, **told: held.table.overwrite(NONE, "day = 'z'", **told),
    "overwrite nothing by nothing": lambda held, **told: held.empty.overwrite(NONE, **told),
    "overwrite no partition": lambda held, **told: held.table.overwrite_partitions(NONE, **told),
    "truncate": lambda held, **told: held.empty.truncate(**told),
    "set": lambda held, **told: held.table.set_properties({"a": "b"}, **told),
    "unset": lambda held, **told: held.table.unset_properties(["c"], **told),
    "set of the catalog": lambda held, **told: held.main.set_properties({"owner": "ann"}, **told),
    "set of a view": lambda held, **told: held.main.view("v").set_properties({}, **told),
    "rename": lambda held, **told: held.table.rename("t", **told),
    "restore": lambda held, **told: held.main.restore_table("t", held.version, **told),
    "evolve": evolve_nothing,
}


def stands_at(answer, newest):
    """Whether an answer says where the line stands, and is nobody's commit."""
    return (answer.id, answer.operations, answer.version, answer.time) == ("", (), newest.version, newest.time)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_finds_nothing_to_change_does_not_fill_the_log(held, unchanged, call):
    """Every such call used to add a commit that did nothing."""
    with unchanged():
        assert stands_at(CALLS[call](held), held.main.log()[0])
        assert stands_at(CALLS[call](held, message="again", author="bob"), held.main.log()[0])


def test_nobody_reverts_the_commit_of_somebody_else_by_the_answer_of_a_delete_that_found_nothing(held, unchanged):
    answer = held.table.delete("id = 999")
    assert str(answer).endswith("nothing changed")
    for undo in (held.main.revert, held.main.cherry_pick):
        with unchanged(), pytest.raises(Invalid, match="changed nothing"):
            undo(answer)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_with_an_event_id_commits_so_that_a_repetition_finds_it(held, unchanged, call):
    before, event = held.main.log(), str(uuid4())
    commit = CALLS[call](held, event_id=event)
    assert (commit.id, held.main.log()) == (event, [commit, *before])
    with unchanged():
        assert CALLS[call](held, event_id=event) == commit


def test_an_append_of_no_rows_is_a_commit(held):
    before = held.main.log()
    assert held.main.log() == before
    commit = held.table.append(NONE)
    assert held.main.log() == [commit, *before]


def test_a_branch_without_commits_of_its_own_answers_its_parent_s(held):
    dev = held.main.create_branch("dev")
    assert stands_at(dev.table("t").delete("id = 9"), held.main.log()[0])


def test_a_call_that_finds_nothing_on_a_dropped_branch_is_refused(held):
    dev = held.main.create_branch("dev")
    table = dev.table("t")
    held.main.drop_branch("dev")
    with pytest.raises(NotFound, match="was dropped"):
        table.set_properties({"a": "b"})


def test_the_first_call_of_an_empty_catalog_commits_even_if_it_changes_nothing(lake):
    """There is no commit that it could answer."""
    other = lake.create_catalog("other")
    assert other.set_properties({}) == other.log()[0]
