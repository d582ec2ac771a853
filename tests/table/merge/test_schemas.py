"""Merging schemas by field ids: what goes together, what is a conflict, and whose state a conflict gets."""

from dataclasses import replace
from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.merge.schemas import SchemaConflict, merge_schemas
from lakebed.table.merge.strategy import Settle
from lakebed.table.schema.evolution import (
    FIRST,
    add_column,
    after,
    drop_column,
    make_optional,
    move_column,
    rename_column,
    set_comment,
    set_default,
    set_key,
    widen_column,
)
from lakebed.table.schema.json import schema_from_json, schema_to_json
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT, LONG, Decimal, Field, List, Struct
from tests.support.evolutions import FIRST_SCHEMA, evolutions
from tests.support.examples import examples

INNER = Struct((Field("x", "int"), Field("y", "decimal(5, 2)")))
BASE = with_ids(
    Schema(
        [
            Field("id", "long", required=True),
            Field("price", "int"),
            Field("amount", "decimal(5, 2)"),
            Field("s", INNER),
            Field("l", List(INNER)),
            Field("other", "long", required=True),
        ]
    ),
    1,
    1,
)


def add(schema, path, type, id, **how):
    return add_column(schema, path, type, ids=count(id), **how)


def numbered(schema, id):
    return replace(schema, id=id)


def merged(ours, theirs, settle=Settle.FAIL, base=BASE):
    return merge_schemas(base, numbered(ours, 2), numbered(theirs, 3), settle)


def fine(ours, theirs, base=BASE):
    """The merge that both directions agree on but for the order of columns."""
    one, other = merged(ours, theirs, base=base), merged(theirs, ours, base=base)
    assert one.conflicts == other.conflicts == ()
    assert set(one.schema.ways) == set(other.schema.ways)
    return one.schema


def test_what_one_side_alone_changed_is_taken():
    ours = rename_column(widen_column(BASE, "price", "long"), "s.x", "z")
    theirs = set_comment(set_default(BASE, "price", 7), "s.x", "said")
    schema = fine(ours, make_optional(theirs, "other"))
    assert schema.field("price") == replace(BASE.field("price"), type=LONG, write_default=7, widened_from=INT)
    assert (schema.find("s.z").comment, schema.find("s.z").id) == ("said", BASE.find("s.x").id)
    assert not schema.field("other").required
    assert schema.id == 0


def test_the_same_change_on_both_sides_is_one():
    both = drop_column(rename_column(widen_column(BASE, "price", "long"), "s.x", "z"), "amount")
    found = merged(both, both)
    assert (found.schema, found.conflicts) == (numbered(both, 2), ())


def test_a_merge_that_equals_a_side_is_that_side():
    changed = add(BASE, "new", "int", 50)
    assert merged(BASE, changed).schema == numbered(changed, 3)
    assert merged(changed, BASE).schema == numbered(changed, 2)
    assert merged(BASE, BASE).schema == numbered(BASE, 2)


def test_columns_and_fields_added_on_two_sides_are_both_there():
    ours = add(add(BASE, "mine", "int", 50), "l.element.mine", "int", 51)
    theirs = add(add(BASE, "yours", "int", 60), "l.element.yours", "int", 61)
    schema = fine(ours, theirs)
    assert schema.names == (*BASE.names, "mine", "yours")
    assert [one.name for one in schema.find("l.element").type.fields] == ["x", "y", "mine", "yours"]


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        (lambda s: move_column(s, "other", FIRST), lambda s: s, "other id price amount s l"),
        (lambda s: s, lambda s: move_column(s, "other", FIRST), "other id price amount s l"),
        (lambda s: add(s, "new", "int", 50), lambda s: move_column(s, "s", FIRST), "s id price amount l other new"),
        (lambda s: move_column(s, "l", FIRST), lambda s: move_column(s, "s", FIRST), "l id price amount s other"),
        (
            lambda s: move_column(s, "l", FIRST),
            lambda s: add(s, "new", "int", 50, position=FIRST),
            "l id price amount s other new",
        ),
        (
            lambda s: drop_column(s, "price"),
            lambda s: add(s, "new", "int", 50, position=after("id")),
            "id new amount s l other",
        ),
    ],
)
def test_the_order_is_that_of_the_side_that_moved_something_and_else_ours(ours, theirs, names):
    assert merged(ours(BASE), theirs(BASE)).schema.names == tuple(names.split())


CONFLICTS = {
    "two names": (
        lambda s: rename_column(s, "price", "cost"),
        lambda s: rename_column(s, "price", "value"),
        SchemaConflict("column price: name", "price", "cost", "value"),
    ),
    "two types": (
        lambda s: widen_column(s, "s.y", "decimal(7, 2)"),
        lambda s: widen_column(s, "s.y", "decimal(9, 2)"),
        SchemaConflict("column s.y: type", "decimal(5, 2)", "decimal(7, 2)", "decimal(9, 2)"),
    ),
    "two comments": (
        lambda s: set_comment(s, "l.element.x", "one"),
        lambda s: set_comment(s, "l.element.x", "two"),
        SchemaConflict("column l.element.x: comment", "", "one", "two"),
    ),
    "two defaults": (
        lambda s: set_default(s, "price", 1),
        lambda s: set_default(s, "price", 2),
        SchemaConflict("column price: default", "none", "1", "2"),
    ),
    "dropped and changed": (
        lambda s: drop_column(s, "price"),
        lambda s: widen_column(s, "price", "long"),
        SchemaConflict("column price", "price: int", "dropped", "price: long"),
    ),
    "a struct dropped, a field in it added": (
        lambda s: drop_column(s, "s"),
        lambda s: add(s, "s.new", "int", 50),
        SchemaConflict(
            "column s",
            "s: struct<x: int, y: decimal(5, 2)>",
            "dropped",
            "s: struct<x: int, y: decimal(5, 2), new: int>",
        ),
    ),
    "one name added twice": (
        lambda s: add(s, "New", "int", 50),
        lambda s: add(s, "new", "int", 60),
        SchemaConflict("column new: name", "none", "added, int", "added, int"),
    ),
    "one name for two columns": (
        lambda s: rename_column(s, "s.x", "new"),
        lambda s: add(s, "s.new", "string", 60),
        SchemaConflict("column s.new: name", "none", "renamed from x", "added, string"),
    ),
    "all fields dropped": (
        lambda s: drop_column(s, "s.x"),
        lambda s: drop_column(s, "s.y"),
        SchemaConflict("all columns of s", "x, y", "y", "x"),
    ),
    "two keys": (
        lambda s: set_key(s, ["id"]),
        lambda s: set_key(s, ["other"]),
        SchemaConflict("primary key", "none", "id", "other"),
    ),
    "a key whose column is dropped": (
        lambda s: set_key(s, ["other"]),
        lambda s: drop_column(s, "other"),
        SchemaConflict("primary key", "none", "other", "none"),
    ),
    "a key whose column is made optional": (
        lambda s: set_key(s, ["other"]),
        lambda s: make_optional(s, "other"),
        SchemaConflict("primary key", "none", "other", "none"),
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_two_sides_changed_differently_is_one_conflict_in_both_directions(name):
    ours, theirs, row = CONFLICTS[name]
    assert merged(ours(BASE), theirs(BASE)).conflicts == (row,)
    swapped = SchemaConflict(row.what, row.base, row.theirs, row.ours)
    assert merged(theirs(BASE), ours(BASE)).conflicts == (swapped,)


@pytest.mark.parametrize("name", [name for name in CONFLICTS if name != "two types"])
def test_a_conflict_that_is_settled_gets_the_winners_state(name):
    ours, theirs, row = CONFLICTS[name]
    for settle, winner in ((Settle.OURS, ours), (Settle.THEIRS, theirs)):
        found = merged(ours(BASE), theirs(BASE), settle)
        assert found.conflicts == (row,)
        assert (found.schema.fields, found.schema.key) == (winner(BASE).fields, winner(BASE).key)


def test_each_conflict_is_settled_alone_and_what_is_none_stays():
    ours = add(rename_column(BASE, "price", "cost"), "mine", "int", 50)
    theirs = add(widen_column(rename_column(BASE, "price", "value"), "value", "long"), "yours", "int", 60)
    found = merged(ours, theirs, Settle.OURS)
    assert [one.what for one in found.conflicts] == ["column price: name"]
    assert found.schema.names == ("id", "cost", "amount", "s", "l", "other", "mine", "yours")
    assert str(found.schema.field("cost").type) == "long"


def test_a_column_that_loses_its_name_leaves_or_has_the_one_it_has_there():
    ours, theirs = rename_column(BASE, "price", "new"), add(BASE, "new", "string", 60)
    assert merged(ours, theirs, Settle.OURS).schema.names == ours.names
    assert merged(ours, theirs, Settle.THEIRS).schema.names == theirs.names
    swapped = add(rename_column(BASE, "price", "new"), "price", "date", 70)
    found = merged(swapped, theirs, Settle.THEIRS)
    assert [one.what for one in found.conflicts] == ["column new: name", "column price: name"]
    assert found.schema.fields == theirs.fields


@pytest.mark.parametrize("settle", [Settle.OURS, Settle.THEIRS])
def test_of_two_types_the_wider_one_is_taken_whoever_wins_since_both_sides_have_files(settle):
    ours = set_default(widen_column(BASE, "amount", "decimal(9, 2)"), "amount", 1234567)
    theirs = widen_column(BASE, "amount", "decimal(7, 2)")
    for one, other in ((ours, theirs), (theirs, ours)):
        kept = merged(one, other, settle)
        assert [row.what for row in kept.conflicts] == ["column amount: type"]
        assert kept.schema.field("amount") == ours.field("amount")
        assert kept.schema.field("amount").widened_from == Decimal(5, 2)


def test_a_key_and_its_columns_stay_with_the_winner():
    base = set_key(BASE, ["id"])
    ours = drop_column(set_key(base, ["other"]), "id")
    theirs = make_optional(base, "other")
    for settle, winner in ((Settle.OURS, ours), (Settle.THEIRS, theirs)):
        found = merged(ours, theirs, settle, base)
        assert [one.what for one in found.conflicts] == ["primary key"]
        assert found.schema.key == winner.key


def test_a_column_added_on_both_sides_by_an_earlier_merge_is_one():
    shared = add(BASE, "shared", "int", 50)
    schema = fine(rename_column(shared, "price", "cost"), add(shared, "more", "int", 60))
    assert schema.names == ("id", "cost", "amount", "s", "l", "other", "shared", "more")
    [conflict] = merged(rename_column(shared, "shared", "mine"), shared).conflicts
    assert conflict.what == "column mine: name"


def sides(random, steps):
    base = evolutions(random, FIRST_SCHEMA, count(100), steps)[-1]
    ours, theirs = (evolutions(random, base, count(first), steps)[-1] for first in (1000, 2000))
    return numbered(base, 1), numbered(ours, 2), numbered(theirs, 3)


@settings(max_examples=examples(60, 150))
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_conflicts_are_the_same_from_both_sides(random: Random, steps: int):
    base, ours, theirs = sides(random, steps)
    here = merge_schemas(base, ours, theirs, Settle.FAIL)
    there = merge_schemas(base, theirs, ours, Settle.FAIL)
    swapped = [SchemaConflict(one.what, one.base, one.theirs, one.ours) for one in there.conflicts]
    assert sorted(map(str, here.conflicts)) == sorted(map(str, swapped))
    if not here.conflicts:
        assert here.schema.ways.keys() == there.schema.ways.keys()
        assert merge_schemas(base, ours, theirs, Settle.THEIRS) == here


@settings(max_examples=examples(60, 150))
@given(st.randoms(use_true_random=False), st.integers(1, 8), st.sampled_from([Settle.OURS, Settle.THEIRS]))
def test_every_merged_schema_is_one_that_a_table_can_keep(random: Random, steps: int, settle: Settle):
    base, ours, theirs = sides(random, steps)
    found = merge_schemas(base, ours, theirs, settle)
    assert schema_from_json(schema_to_json(found.schema)) == found.schema
    assert found.schema.ways.keys() <= ours.ways.keys() | theirs.ways.keys()
    fails = merge_schemas(base, ours, theirs, Settle.FAIL)
    assert bool(fails.conflicts) == bool(found.conflicts)
    assert {one.what for one in fails.conflicts} <= {one.what for one in found.conflicts}


@settings(max_examples=examples(40, 100))
@given(st.randoms(use_true_random=False), st.integers(1, 8), st.sampled_from(Settle))
def test_a_side_that_changed_nothing_gives_way(random: Random, steps: int, settle: Settle):
    base, ours, _ = sides(random, steps)
    for one, other in ((ours, base), (base, ours)):
        found = merge_schemas(base, one, other, settle)
        assert found.conflicts == ()
        assert (found.schema.fields, found.schema.key) == (ours.fields, ours.key)
    assert merge_schemas(base, ours, ours, settle).schema == ours


@settings(max_examples=examples(40, 100))
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_merging_again_changes_nothing(random: Random, steps: int):
    """What was merged into ours has theirs as its base from then on."""
    base, ours, theirs = sides(random, steps)
    for settle in (Settle.OURS, Settle.THEIRS):
        found = merge_schemas(base, ours, theirs, settle).schema
        again = merge_schemas(theirs, found, theirs, settle)
        assert (again.schema, again.conflicts) == (found, ())


@settings(max_examples=examples(40, 100))
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_three_sides_without_conflicts_come_to_the_same_in_any_order(random: Random, steps: int):
    base, one, two = sides(random, steps)
    three = numbered(evolutions(random, base, count(3000), steps)[-1], 4)

    def in_turn(first, second, third):
        begun = merge_schemas(base, first, second, Settle.FAIL)
        ended = merge_schemas(base, begun.schema, third, Settle.FAIL)
        return None if begun.conflicts or ended.conflicts else ended.schema

    answers = [in_turn(one, two, three), in_turn(two, three, one), in_turn(three, one, two)]
    if None not in answers:
        contents = [({id: way[-1].name for id, way in schema.ways.items()}, schema.key) for schema in answers]
        assert contents[0] == contents[1] == contents[2]
