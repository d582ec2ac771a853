"""Checks of a table, which are properties, and its columns: lengths that were declared, columns that change."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from lakebed.catalog.tables.properties import Check, Properties, checks_of
from lakebed.errors import Invalid
from lakebed.table.expression.build import as_boolean
from lakebed.table.expression.parse import parse_expression
from lakebed.table.expression.scope import rows_scope
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.sql.tree import names_of, sql_tree
from lakebed.table.types.types import UNLIMITED, Struct, Way, quoted_name, walk

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node


# Lengths


def length_checks(schema: Schema) -> dict[str, str]:
    """The properties that check the lengths of columns declared as `varchar(20)` and the like."""
    return {check.key: check.condition for check in _length_checks(schema)}


def _length_checks(schema: Schema) -> Iterator[Check]:
    for way in walk(schema.fields):
        if length := way[-1].max_length:
            if not all(isinstance(outer.type, Struct) for outer in way[:-1]):
                raise Invalid("no check reaches into lists and maps", subject=dotted_path(way), advice="Use string.")
            yield Check(_length_name(way), f"length({_spelled(way)}) <= {length}")


def _length_name(way: Way) -> str:
    return f"{dotted_path(way)}-length"


def _length_key(way: Way) -> str:
    return Check(_length_name(way), "").key


def _spelled(way: Way) -> str:
    return ".".join(quoted_name(field.name) for field in way)


# Conditions


def check_condition(check: Check, schema: Schema) -> None:
    """Refuse a check that can't be read, is not a condition, or names columns that the table does not have.

    A function that only Spark knows is accepted, if it only computes: the local engine then refuses to write.
    """
    try:
        tree = sql_tree(check.condition)
        for column in _columns(tree):
            rows_scope(schema).column(names_of(column) or ())
        if any(node.key in ("select", "subquery", "exists") for node in tree.walk()):
            raise Invalid("a check can't have a query inside it")
    except Invalid as error:
        raise check.unreadable(error) from error
    check.require_harmless()
    try:
        value = parse_expression(check.condition, rows_scope(schema))
    except Invalid:
        return
    try:
        as_boolean("a check", value)
    except Invalid as error:
        raise check.unreadable(error) from error


def evolved_checks(properties: Properties, before: Schema, after: Schema) -> dict[str, str]:
    """The properties of a table whose columns changed: checks follow renamed columns, and new lengths are checked.

    `Invalid` if a check uses a column that was dropped, unless it is the check of that column's own length.
    """
    evolved = dict(properties)
    for check in checks_of(properties):
        del evolved[check.key]
        if (kept := _evolved_check(check, before, after)) is not None:
            evolved[kept.key] = kept.condition
    unlimited = {_length_key(way) for way in walk(after.fields) if way[-1].max_length == UNLIMITED}
    kept_properties = {key: text for key, text in evolved.items() if key not in unlimited}
    return {**kept_properties, **length_checks(after)}


def are_tested(tested: Iterable[Check], before: Schema, checks: Iterable[Check], after: Schema) -> bool:
    """Whether rows that were tested by checks under one schema need no other test by those of a later one.

    Checks follow renamed columns, and a check of new columns alone is not for rows that don't have them.
    """
    try:
        known = {kept.condition for check in tested if (kept := _evolved_check(check, before, after)) is not None}
    except Invalid:  # of a column that was dropped
        return False
    return all(check.condition in known or _is_of_new_columns(check, before, after) for check in checks)


def _is_of_new_columns(check: Check, before: Schema, after: Schema) -> bool:
    try:
        ways = [after.way(names_of(column) or ()) for column in _columns(sql_tree(check.condition))]
    except Invalid:
        return False
    return bool(ways) and all(way[-1].id not in before.ways for way in ways)


def changes_lengths(schema: Schema) -> bool:
    """Whether columns were declared with a length, or without the one that they had."""
    return any(way[-1].max_length is not None for way in walk(schema.fields))


def _evolved_check(check: Check, before: Schema, after: Schema) -> Check | None:
    try:
        ways = [before.way(names_of(column) or ()) for column in _columns(sql_tree(check.condition))]
    except Invalid:
        return check  # of a column that is not there, or unreadable: it was so before
    own_length = len(ways) == 1 and check.name == _length_name(ways[0])
    for way in ways:
        if way[-1].id not in after.ways:
            if own_length:
                return None
            raise _used_by_check(way, check)
    if all(_spelled(way) == _spelled(after.ways[way[-1].id]) for way in ways):
        return check
    name = _length_name(after.ways[ways[0][-1].id]) if own_length else check.name
    return Check(name, _renamed(check.condition, before, after))


def _renamed(condition: str, before: Schema, after: Schema) -> str:
    def renamed(node: "Node") -> "Node":
        if node.key not in ("column", "dot") or (names := names_of(node)) is None:
            return node
        return sql_tree(_spelled(after.ways[before.way(names)[-1].id]))

    return _replaced(sql_tree(condition), renamed).sql(dialect="spark")


def _replaced(tree: "Node", change: Callable[["Node"], "Node"]) -> "Node":
    """The tree with each column replaced; what replaces it is not looked at again."""
    columns = list(_columns(tree))
    if columns == [tree]:
        return change(tree)
    for column in columns:
        column.replace(change(column))
    return tree


def _columns(tree: "Node") -> Iterator["Node"]:
    """The nodes that name columns, the whole of each."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if node.key in ("column", "dot") and names_of(node) is not None:
            yield node
        else:
            pending += node.iter_expressions()


def _used_by_check(way: Way, check: Check) -> Invalid:
    return Invalid(
        "a column that a check uses can't be dropped",
        subject=dotted_path(way),
        found=f"{check.key}: {check.condition}",
        advice=f'First remove the check: table.unset_properties(["{check.key}"]).',
    )
