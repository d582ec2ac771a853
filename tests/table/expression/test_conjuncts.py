"""Conditions cut at their ANDs: the right pieces, and the text untouched."""

import pytest

from lakebed.table.expression.conjuncts import conjuncts, qualified


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a = 1", ["a = 1"]),
        ("a = 1 AND b > 2", ["a = 1", "b > 2"]),
        ("a = 1 and b > 2 And c", ["a = 1", "b > 2", "c"]),
        ("a BETWEEN 1 AND 2 AND b = 3", ["a BETWEEN 1 AND 2", "b = 3"]),
        ("b = 3 AND a NOT BETWEEN 1 AND 2", ["b = 3", "a NOT BETWEEN 1 AND 2"]),
        ("a BETWEEN 1 AND (2 + b) AND c BETWEEN d AND e", ["a BETWEEN 1 AND (2 + b)", "c BETWEEN d AND e"]),
        ("(a = 1 AND b = 2) AND c = 3", ["(a = 1 AND b = 2)", "c = 3"]),
        ("a = 1 AND b = 2 OR c = 3", ["a = 1 AND b = 2 OR c = 3"]),
        ("a = 1 AND (b = 2 OR c = 3)", ["a = 1", "(b = 2 OR c = 3)"]),
        ("CASE WHEN a AND b THEN 1 END = 1 AND c", ["CASE WHEN a AND b THEN 1 END = 1", "c"]),
        ("a = 'x AND y' AND b", ["a = 'x AND y'", "b"]),
        ("a = 'it''s AND' AND b", ["a = 'it''s AND'", "b"]),
        ("a = 1 -- AND b = 2\n AND c", ["a = 1", "c"]),
        ("a = 1 /* AND */ AND c", ["a = 1", "c"]),
        ("`a AND b` = 1 AND c", ["`a AND b` = 1", "c"]),
        ("t.and = 1 AND t.end = 2", ["t.and = 1", "t.end = 2"]),
        ("NOT a AND b", ["NOT a", "b"]),
        ("f(a AND b) AND m['x AND y'] = 1", ["f(a AND b)", "m['x AND y'] = 1"]),
        ("id IN (SELECT x FROM t WHERE y AND z) AND c", ["id IN (SELECT x FROM t WHERE y AND z)", "c"]),
        ("exists(l, x -> x AND true) AND c", ["exists(l, x -> x AND true)", "c"]),
        ("a AND", ["a AND"]),
        ("", [""]),
        ("a = 'open AND b", ["a = 'open AND b"]),
    ],
)
def test_a_condition_is_cut_where_and_joins_its_pieces(text, pieces):
    assert conjuncts(text) == pieces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id > 1", "target.id > 1"),
        ("id > other AND ID < 3", "target.id > other AND target.ID < 3"),
        ("target.id > 1", "target.id > 1"),
        ("`id` = 'id'", "target.`id` = 'id'"),
        ("id.part = 1", "target.id.part = 1"),
        ("upper(id) || name", "upper(target.id) || target.name"),
        ("id >", "id >"),
    ],
)
def test_only_names_that_may_be_two_columns_get_a_qualifier(text, expected):
    assert qualified(text, frozenset({"id", "name"}), "target") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id in (select id from v) and id > 1", "target.id in (select id from v) and target.id > 1"),
        ("target.source = 1 or target = 2", "target.source = 1 or target.target = 2"),
        ("source.id is null", "source.id is null"),
    ],
)
def test_a_column_called_target_or_source_was_taken_for_a_table(text, expected):
    assert qualified(text, frozenset({"id", "target", "source"}), "target") == expected
