"""Calls that change rows and come again: the same answer, and no other change."""

import pytest

from lakebed import Invalid, event_id
from lakebed.catalog.transaction.commits import Request
from lakebed.lake.rows.writes import later_words as later
from tests.support.row_tables import SCHEMA, START, arrow, row, rows

EVENTS = {
    "delete": (lambda t, e: t.delete("id = 1", event_id=e), lambda t, e: t.delete("id = 2", event_id=e)),
    "truncate": (lambda t, e: t.truncate(event_id=e), lambda t, e: t.delete("true", event_id=e)),
    "upsert": (
        lambda t, e: t.upsert(arrow(row(7)), event_id=e),
        lambda t, e: t.upsert(arrow(row(7)), on="region", event_id=e),
    ),
    "upsert that fills": (
        lambda t, e: t.upsert(arrow(row(7)), fill="default", event_id=e),
        lambda t, e: t.upsert(arrow(row(7)), event_id=e),
    ),
    "upsert that casts": (
        lambda t, e: t.upsert([{"id": "7"}], cast=True, event_id=e),
        lambda t, e: t.upsert([{"id": 7}], event_id=e),
    ),
    "append that casts": (
        lambda t, e: t.append([{"id": "7"}], cast=True, event_id=e),
        lambda t, e: t.append([{"id": 7}], event_id=e),
    ),
    "overwrite": (
        lambda t, e: t.overwrite(arrow(row(7)), "id = 1", event_id=e),
        lambda t, e: t.overwrite(arrow(row(7)), "id = 2", event_id=e),
    ),
    "overwrite_partitions": (
        lambda t, e: t.overwrite_partitions(arrow(row(7)), event_id=e),
        lambda t, e: t.overwrite(arrow(row(7)), event_id=e),
    ),
    "compact": (lambda t, e: t.compact(event_id=e), lambda t, e: t.compact(where="id = 1", event_id=e)),
}


@pytest.fixture
def parted(main, inline):
    table = main.create_table(
        "t", SCHEMA, primary_key=["id"], partition_by=["region"], properties={"write.inline-bytes": inline}
    )
    table.append(arrow(*START[:3]))
    table.append(arrow(*START[3:]))
    return table


@pytest.mark.parametrize("call", EVENTS)
def test_a_call_that_comes_again_answers_the_same_and_changes_nothing(parted, call, unchanged):
    """Law 4."""
    again, other = EVENTS[call]
    event = event_id("rows", call)
    first = again(parted, event)
    after = rows(parted)
    with unchanged():
        assert again(parted, event) == first
    with unchanged(), pytest.raises(Invalid, match="belongs to another change"):
        other(parted, event)
    parted.append(arrow(row(90)))
    with unchanged():
        assert again(parted, event) == first
    assert len(rows(parted)) == len(after) + 1


def test_calls_without_later_arguments_keep_their_fingerprint(parted):
    """So that a call of an older version of Lakebed is known when it comes again."""
    assert (
        Request("upsert", (parted.id, "id")).fingerprint == Request("upsert", (parted.id, "id", *later())).fingerprint
    )
    assert later(fill="default", cast=True) == ({"fill": "default", "cast": True},)


@pytest.mark.parametrize("call", EVENTS)
def test_a_call_that_comes_again_is_known_though_its_table_is_gone_or_another(main, parted, call, unchanged):
    again, _ = EVENTS[call]
    event = event_id("rows", call)
    first = again(parted, event)
    with parted.evolve() as change:
        change.partition_by([])
        change.primary_key([])
        change.drop_column("amount")
    with unchanged():
        assert again(parted, event) == first
    main.drop_table("t")
    with unchanged():
        assert again(parted, event) == first


@pytest.mark.parametrize("call", EVENTS)
def test_a_call_says_who_and_why(parted, call):
    commit = {
        "delete": lambda **told: parted.delete("id = 1", **told),
        "truncate": lambda **told: parted.truncate(**told),
        "upsert": lambda **told: parted.upsert(arrow(row(7)), **told),
        "upsert that fills": lambda **told: parted.upsert(arrow(row(7)), fill="default", **told),
        "upsert that casts": lambda **told: parted.upsert([{"id": "7"}], cast=True, **told),
        "append that casts": lambda **told: parted.append([{"id": "7"}], cast=True, **told),
        "overwrite": lambda **told: parted.overwrite(arrow(row(7)), **told),
        "overwrite_partitions": lambda **told: parted.overwrite_partitions(arrow(row(7)), **told),
        "compact": lambda **told: parted.compact(**told),
    }[call](message="why", author="bob")
    assert (commit.message, commit.author) == ("why", "bob")
    assert parted.history()[0] == commit
