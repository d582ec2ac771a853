"""CREATE, DROP and ALTER VIEW, by the calls of handles."""

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from lakebed.catalog.tables.trust import trusts_views
from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import NotFound
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Objects
from lakebed.lake.sql.objects.alter import renamed
from lakebed.lake.sql.objects.places import pointing, shown_object
from lakebed.lake.sql.read import is_temporary
from lakebed.lake.view import View
from lakebed.spark.sql.objects.alter import RenameTo, SetProperties, UnsetProperties
from lakebed.spark.sql.objects.names import is_single
from lakebed.spark.sql.objects.views import AlterView, CreateView, DropView, ViewColumn
from lakebed.spark.sql.queries import Query, Use, find_uses
from lakebed.spark.sql.tokens import quoted

_NO_NAMESPACE = ("",)
"""The namespace of names of one part while they are looked for: no namespace is called so."""


def create_view(execution: Execution, statement: CreateView) -> View:
    """Create a view, or replace one, in one commit; its query has to run."""
    name, by = statement.view, execution.by.keywords
    container = execution.container(name)
    replaced = container.view(name.parts) if statement.replace and container.view_exists(name.parts) else None
    text, frame = _stored_text(execution, statement.query), _run(execution, container, statement.query, replaced)
    schema = _declared(execution, statement, frame) if statement.columns else None
    if statement.columns:
        columns = ", ".join(quoted(column.name) for column in statement.columns)
        text = f"SELECT * FROM (\n{text}\n) AS {quoted(name.parts[-1])} ({columns})"
    described: dict[str, Any] = {"comment": statement.comment, "schema": schema, **by}
    properties = dict(statement.properties)
    with pointing(execution, name.word):
        if statement.replace:
            return container.create_or_replace_view(name.parts, text, properties=properties, **described)
        return container.create_view(
            name.parts, text, properties=properties, if_not_exists=statement.if_not_exists, **described
        )


def drop_view(execution: Execution, statement: DropView) -> Commit | None:
    """Drop a view; a temporary view of the session makes no commit."""
    name = statement.view
    if is_single(name) and (not name.is_relative or is_temporary(execution.spark, name.parts[-1])):
        _drop_temporary(execution, statement)
        return None
    with pointing(execution, name.word):
        return execution.holder(name).drop_view(name.parts, if_exists=statement.if_exists, **execution.by.keywords)


def _drop_temporary(execution: Execution, statement: DropView) -> None:
    execution.check_unattributed()
    name = statement.view
    if execution.spark.catalog.dropTempView(name.parts[-1]) or statement.if_exists:
        return
    with pointing(execution, name.word):
        advice = "Name a view of the lake with its namespace, such as sales.totals."
        raise NotFound("there is no temporary view of this name", subject=name.spelled, advice=advice)


def alter_view(execution: Execution, statement: AlterView) -> Commit | None:
    """Change a view's query, name or properties."""
    name, by = statement.view, execution.by.keywords
    container = execution.holder(name)
    with pointing(execution, name.word):
        if isinstance(statement.change, RenameTo):
            return container.rename_view(name.parts, renamed(name, statement.change.name), **by)
        view = container.view(name.parts)
        match statement.change:
            case SetProperties(properties):
                return view.set_properties(dict(properties), **by)
            case UnsetProperties(names):
                return view.unset_properties(names, **by)
    text = _stored_text(execution, statement.change)
    _run(execution, container, statement.change, view)
    return view.set_sql(text, **by)


def _run(execution: Execution, container: Objects, query: Query, view: View | None) -> DataFrame:
    """The rows of a view's query; `Invalid` if it reads the view, also through others, which it would break."""
    is_restricted = not trusts_views(container._scope.context, container._scope.ref)
    within = () if view is None else (view,)
    return replace(execution.reader, within=within, is_restricted=is_restricted).frame(query)


def _stored_text(execution: Execution, query: Query) -> str:
    """The text of a view's query, with whole names: the session's namespace is not the view's."""
    words = query.words
    pieces, position = [], words.start
    for use in _single_names(query):
        if words.namespace is None or shown_object(execution, use.name) is None:
            raise words.refused(
                "a view of the lake can't read a table of the session",
                use.name.word,
                expected="a table or view of the lake, such as sales.orders",
                advice="CREATE TEMPORARY VIEW can.",
            )
        whole = ".".join(quoted(part) for part in use.name.parts)
        pieces += [words.text[position : use.name.start], whole]
        position = use.name.end
    return "".join([*pieces, words.text[position : words.end]])


def _single_names(query: Query) -> list[Use]:
    """The tables that a query names by one part, in the order of the text."""
    words = query.words if query.words.namespace is not None else replace(query.words, namespace=_NO_NAMESPACE)
    uses = find_uses(words).uses
    return sorted((use for use in uses if use.name.is_relative), key=lambda use: use.name.start)


def _declared(execution: Execution, statement: CreateView, frame: DataFrame) -> StructType:
    """The columns that a view declares, with the types of its query."""
    fields = frame.schema.fields
    if len(fields) != len(statement.columns):
        raise statement.query.words.refused(
            f"the query has {len(fields)} columns, but the view declares {len(statement.columns)}",
            statement.query.words.words[0],
            expected="a name for each column",
        )
    return StructType([_named(column, field) for column, field in zip(statement.columns, fields, strict=True)])


def _named(column: ViewColumn, field: StructField) -> StructField:
    comment = {"comment": column.comment} if column.comment else {}
    return StructField(column.name, field.dataType, True, comment)
