"""Conditions of any SQL that expressions have: what a filter can express prunes files, the rest is tested on rows."""

from dataclasses import dataclass

from lakebed.errors import Invalid
from lakebed.table.expression.conjuncts import conjuncts
from lakebed.table.expression.expression import columns_of
from lakebed.table.expression.parse import parse_predicate
from lakebed.table.expression.quotes import check_quoted_names
from lakebed.table.expression.scope import Scope, rows_scope
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import Filter, Predicate, all_of
from lakebed.table.filter.parse import parse_condition
from lakebed.table.schema.metadata_columns import METADATA_IDS, with_metadata_columns
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Where:
    """A condition for the rows of a schema.

    `text` is SQL that every reader of manifests knows: all rows that pass the filter pass it, and perhaps others.
    """

    filter: Filter
    text: str


def bind_where(where: str | Condition, schema: Schema) -> Where:
    """The condition for a schema's rows, split at AND. Metadata columns such as `_row_id` are columns too.

    `Invalid` names a column that does not exist, types that do not fit, or SQL that only Spark evaluates.
    """
    if not isinstance(where, str):
        return Where(bind(where, schema), str(where))
    scope = rows_scope(with_metadata_columns(schema))
    whole = _bound(where, schema, scope)
    if not isinstance(whole, Predicate):
        return Where(whole, where)
    pieces = conjuncts(where)
    if len(pieces) == 1:
        return Where(whole, "true")
    filters = [(piece, _bound(piece, schema, scope)) for piece in pieces]
    texts = [f"({piece})" for piece, filter in filters if not isinstance(filter, Predicate)]
    return Where(all_of([filter for _, filter in filters]), " AND ".join(texts) or "true")


def _bound(text: str, schema: Schema, scope: Scope) -> Filter:
    """The filter that a condition is; a predicate if no other filter can express it."""
    try:
        condition = parse_condition(text)
    except Invalid:
        return _predicate(text, schema, scope)
    try:
        return bind(condition, schema)
    except Invalid:
        predicate = _metadata_predicate(text, schema, scope)
        if predicate is None:
            raise
        return predicate


def _predicate(text: str, schema: Schema, scope: Scope) -> Predicate:
    check_quoted_names(text, schema.names)
    expression = parse_predicate(text, scope)
    fields = {column.way[0].id: column.way[0] for column in columns_of(expression)}
    return Predicate(expression, tuple(fields.values()), text)


def _metadata_predicate(text: str, schema: Schema, scope: Scope) -> Predicate | None:
    """The predicate, if it is about metadata columns, which filters don't have."""
    try:
        predicate = _predicate(text, schema, scope)
    except Invalid:
        return None
    return predicate if any(field.id in METADATA_IDS for field in predicate.fields) else None
