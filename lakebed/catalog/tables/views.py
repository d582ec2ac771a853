"""Views: a query's text for each dialect of SQL, kept as it was given and versioned like all else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.objects.properties import is_text, with_comment
from lakebed.catalog.tables.tables import missing, schema_of
from lakebed.catalog.transaction.bodies import SCHEMA
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import find, free_place, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Operation, life
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema, with_ids

SPARK = "spark"
"""The dialect of a text that comes without one."""

Sql = str | Mapping[str, str]
"""A query: its text in Spark's dialect, or its texts by dialect."""

_DIALECT = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ViewState:
    """What a view is at a version: its texts by dialect, and the columns that it gives, if those were said."""

    id: str
    sql: dict[str, str]
    schema: Schema | None


def check_sql(sql: Sql) -> dict[str, str]:
    """The texts by dialect, or `Invalid` if there is none or one can't be a query."""
    texts = {SPARK: sql} if isinstance(sql, str) else sql
    if not isinstance(texts, Mapping) or not texts:
        raise Invalid("a view is made of SQL", expected="text, or texts by dialect", found=repr(sql))
    for dialect, text in texts.items():
        if not isinstance(dialect, str) or not _DIALECT.fullmatch(dialect):
            raise Invalid("this names no dialect of SQL", subject=repr(dialect), expected="a name like spark or trino")
        if not is_text(text) or not text.strip():
            raise Invalid("a view's SQL is text", subject=dialect, expected="a query", found=repr(text))
    return dict(sorted(texts.items()))


def create_view(
    work: Work,
    name: Name,
    sql: Sql,
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    schema: Schema | None = None,
) -> str:
    """Make a view and answer its id; what its text names need not be there."""
    texts = check_sql(sql)
    given = with_comment(properties, comment)
    parent, own = free_place(work, parse_name(name))
    view = work.new_id(spelled(parse_name(name)))
    work.put_new_life(view, life(pb.VIEW, parent, own))
    work.put_attribute(view, Attribute.PROPERTIES, pb.TableProperties(properties=given))
    _put_text(work, view, texts, schema)
    work.note(Operation("create", view, spelled(parse_name(name))))
    return view


def find_view(work: Work, name: Name) -> str:
    """The id of the view with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.VIEW)


def view_state(work: Work, view: str) -> ViewState:
    """The view as the work sees it, or `NotFound`."""
    work.load_with_path(view, Attribute.VIEW)
    work.path(view)
    record = cast("pb.ViewText | None", work.attribute(view, Attribute.VIEW))
    if record is None:
        raise missing(work, view)
    schema = schema_of(work, view, record.schema_id) if record.HasField("schema_id") else None
    return ViewState(view, dict(sorted(record.sql.items())), schema)


def set_sql(work: Work, view: str, sql: Sql, schema: Schema | None = None) -> None:
    """Give a view another query, in all dialects: those that are not given are gone, as their texts would be old."""
    texts = check_sql(sql)
    name = spelled(name_of(work, view))
    view_state(work, view)
    _put_text(work, view, texts, schema)
    work.note(Operation("alter_view", view, name, detail=", ".join(texts)))


def _put_text(work: Work, view: str, texts: dict[str, str], schema: Schema | None) -> None:
    record = pb.ViewText(sql=texts)
    if schema is not None:
        # Taken from the allocator, so that two branches never give one number to two schemas.
        numbered = with_ids(schema, work.context.metastore.allocate(view, SCHEMA), 1)
        work.put_body(view, SCHEMA, numbered.id, schema_to_json(numbered))
        record.schema_id = numbered.id
    work.put_attribute(view, Attribute.VIEW, record)
