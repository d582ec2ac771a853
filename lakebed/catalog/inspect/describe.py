"""Descriptions of catalogs, namespaces, tables and views, as text for people."""

from collections.abc import Iterable, Mapping
from textwrap import indent

from lakebed.catalog.inspect.history import TablePast
from lakebed.catalog.objects.log import Asked, log_page
from lakebed.catalog.objects.namespaces import owner_of, shown_location
from lakebed.catalog.objects.properties import COMMENT, properties_of
from lakebed.catalog.objects.walk import created_version
from lakebed.catalog.tables.views import view_state
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import descendants, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.table.partition.sort_order import order_texts
from lakebed.table.partition.spec import spec_texts
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

Line = tuple[str, object]


def table_text(past: TablePast) -> str:
    """A table: its name, columns, layout and size."""
    state, newest = past.state, past.steps[-1] if past.steps else None
    totals = newest.record.totals if newest else {}
    lines: list[Line] = [
        ("id", state.id),
        ("comment", past.properties.get(COMMENT)),
        ("location", past.context.files.location(state.location)),
        ("format", past.storage.file_format),
        ("serde", past.storage.serde),
        ("owner", past.storage.owner),
        ("primary key", ", ".join(state.schema.key)),
        ("partitioned by", ", ".join(spec_texts(state.spec, state.schema))),
        ("sorted by", ", ".join(order_texts(state.sort_order, state.schema))),
        ("rows", totals.get("rows", 0)),
        ("files", totals.get("files", 0)),
        ("bytes", totals.get("bytes", 0)),
        ("snapshot", newest and newest.id),
        ("created", past.created),
        ("changed", past.changed),
    ]
    text = _text(f"table {spelled(past.name)}", lines, state.schema, past.properties)
    own = [f"  {key} = {value}" for key, value in past.storage.properties.items()]
    return "\n".join([text, "storage properties", *own]) if own else text


def view_text(work: Work, view: str) -> str:
    """A view: its name, columns and texts."""
    state, properties = view_state(work, view), properties_of(work, view)
    text = _text(f"view {spelled(name_of(work, view))}", _identity(work, view, properties), state.schema, properties)
    queries = (f"sql, {dialect}\n{indent(query.strip(), '  ')}" for dialect, query in state.sql.items())
    return "\n".join([text, *queries])


def namespace_text(work: Work, namespace: str) -> str:
    """A namespace: its name, and how many objects are in it at any depth."""
    properties = properties_of(work, namespace)
    own: list[Line] = [
        ("location", shown_location(work, namespace)),
        ("owner", owner_of(work, namespace)),
    ]
    lines = [*_identity(work, namespace, properties), *own, *_counts_inside(work, namespace)]
    return _text(f"namespace {spelled(name_of(work, namespace))}", lines, None, properties)


def catalog_text(work: Work, title: str) -> str:
    """A line of a catalog: its newest commit, and how many objects are in it."""
    properties = properties_of(work, work.top)
    lines = [("id", work.ref.catalog), *_last_change(work, None), *_counts_inside(work, work.top)]
    return _text(f"catalog {title}", lines, None, properties)


def _identity(work: Work, object_id: str, properties: Mapping[str, str]) -> list[Line]:
    return [
        ("id", object_id),
        ("comment", properties.get(COMMENT)),
        ("created", created_version(work, object_id)),
        *_last_change(work, object_id),
    ]


def _last_change(work: Work, object_id: str | None) -> list[Line]:
    return [("changed", _commit_text(commit)) for commit in log_page(work, 1, Asked(object_id))[0]]


def _commit_text(commit: Commit) -> str:
    return f"{commit.version} by {commit.author} at {commit.time:%Y-%m-%d %H:%M:%S} UTC"


def _counts_inside(work: Work, parent: str) -> list[Line]:
    kinds = (("namespaces", pb.NAMESPACE), ("tables", pb.TABLE), ("views", pb.VIEW))
    return [(what, sum(1 for _ in descendants(work, parent, kind))) for what, kind in kinds]


def _text(title: str, lines: Iterable[Line], schema: Schema | None, properties: Mapping[str, str]) -> str:
    """A title, a line for each value that is set, the columns, the other properties."""
    shown = [(word, value) for word, value in lines if value is not None and value != ""]
    width = max((len(word) for word, _ in shown), default=0)
    text = [title, *(f"  {word:<{width}}  {value}" for word, value in shown)]
    if schema is not None:
        text += ["columns", *_columns(schema)]
    others = {key: value for key, value in properties.items() if key != COMMENT}
    if others:
        text += ["properties", *(f"  {key} = {value}" for key, value in sorted(others.items()))]
    return "\n".join(text)


def _columns(schema: Schema) -> list[str]:
    width = max((len(field.name) for field in schema.fields), default=0)
    return [f"  {field.name:<{width}}  {_column_text(field)}" for field in schema.fields]


def _column_text(field: Field) -> str:
    comment = f"  -- {field.comment}" if field.comment else ""
    return f"{field.type}{' not null' if field.required else ''}{comment}"
