"""Numbers and names that a change of a table takes."""

import pytest

from lakebed.catalog.tables.ids import DraftIds, KnownName, TakenIds
from lakebed.catalog.transaction.bodies import FIELD, SCHEMA, SORT_ORDER, SPEC
from lakebed.table.partition.json import order_from_json, spec_from_json
from lakebed.table.types.types import Field


@pytest.fixture
def table(main):
    return main.create_table("t", {"id": "long", "Name": "string"}, partition_by=["id"], sort_by=["name"])


def unknown(work, table, below, above, new):
    return None


def taken(table, work=None, find=unknown):
    ids = TakenIds(table.id, find)
    ids.begin(work or table._scope.read())
    return ids


def test_ids_follow_those_that_the_table_was_made_with(table):
    ids = taken(table)
    assert (ids.take(FIELD), ids.take(FIELD, 3), ids.take(FIELD)) == (3, 4, 7)
    assert (ids.take(SCHEMA), ids.take(SPEC), ids.take(SORT_ORDER)) == (2, 2, 2)


def test_a_change_that_is_made_anew_gets_the_ids_that_it_had(table):
    ids = taken(table)
    first = [ids.take(FIELD), ids.take(FIELD, 2), ids.take(SCHEMA)]
    assert taken(table).take(FIELD) == 6
    ids.begin(table._scope.read())
    assert [ids.take(FIELD), ids.take(FIELD, 2), ids.take(SCHEMA)] == first
    ids.begin(table._scope.read())
    assert ids.take(FIELD, 5) == 7, "another number of them is another question"


def test_a_change_that_is_made_again_keeps_what_it_knew_of_a_column(table):
    """Rows may have been written with the ids of the first time."""
    answers = iter([KnownName(), *(KnownName(Field("note", "string", id=number), number) for number in (7, 8))])
    asked = []

    def find(work, table, below, above, new):
        asked.append(below)
        return next(answers)

    ids = taken(table, find=find)
    for _ in range(2):
        assert ids.known_column(None, Field("note", "string")) is None
        assert ids.known_column(None, Field("more", "string")).id == 7
        assert ids.schema_number() == 2
        ids.begin(table._scope.read())
    assert asked == [2, 2]


def test_a_name_is_claimed_once(table):
    ids, others = taken(table), taken(table)
    assert ids.claim("note")
    assert not others.claim("note")
    assert not ids.claim("note"), "a second column of one change"
    ids.begin(table._scope.read())
    assert (ids.claim("note"), ids.claim("note")) == (True, False)


def test_the_first_names_are_those_in_the_files(main, table):
    with table.evolve() as change:
        change.rename_column("name", "title")
        change.add_column("x", "int")
    assert taken(table).first_names() == {"id", "name"}


def test_a_table_that_a_work_makes_is_counted_in_it(main):
    with main.transaction("make") as tx:
        new = tx.create_table("new", {"id": "long"})
        ids = taken(new, new._scope.read())
        assert (ids.take(FIELD, 2), ids.take(FIELD), ids.take(SPEC), ids.take(SPEC)) == (2, 4, 1, 2)
        assert (ids.claim("x"), ids.claim("x"), ids.claim("y")) == (True, False, True)
    later = taken(main.table("new"))
    assert (later.take(FIELD), later.take(SPEC), later.claim("x"), later.claim("z")) == (5, 3, False, True)


def test_earlier_specs_and_orders_are_those_of_the_line_or_of_all(main, table):
    dev = main.create_branch("dev").table("t")
    with dev.evolve() as change:
        change.partition_by(["name"])
        change.sort_by(["id"])
    with table.evolve() as change:
        change.partition_by([])
        change.sort_by([])
    on_main, on_dev = taken(table), taken(dev)
    assert [spec_from_json(one).id for one in on_main.of_line(SPEC)] == [1]
    assert [spec_from_json(one).id for one in on_dev.of_line(SPEC)] == [1, 2]
    assert [order_from_json(one).id for one in on_dev.of_line(SORT_ORDER)] == [1, 2]
    assert [spec_from_json(one).id for one in on_main.below(SPEC, 3)] == [1, 2]
    assert on_main.take(SPEC) == 3
    assert [spec_from_json(one).id for one in on_main.below(SPEC, 4)] == [1, 2], "3 was taken and never committed"


def test_a_draft_takes_nothing(table):
    draft = DraftIds()
    first, second = draft.take(FIELD, 3), draft.take(FIELD)
    assert second == first + 3
    assert (draft.claim("id"), draft.first_names(), draft.of_line(SPEC), draft.below(SPEC, 9)) == (True, set(), [], [])
    assert taken(table).take(FIELD) == 3
