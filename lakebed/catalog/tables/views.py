"""Views: the text of a query in one or more SQL dialects, stored as given and versioned like everything else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.objects.properties import is_text, put_properties, with_comment
from lakebed.catalog.tables.tables import missing_record, schema_of
from lakebed.catalog.tables.trust import check_view_text
from lakebed.catalog.transaction.bodies import SCHEMA
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import exists, find, free_place, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Operation, life
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.limits import check_statement
from lakebed.table.types.nesting import check_nesting

SPARK = "spark"
"""The dialect of a text that is given without one."""

Sql = str | Mapping[str, str]
"""A query: its text in Spark's dialect, or its texts by dialect."""

_DIALECT = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ViewState:
    """A view at a version: its texts by dialect, and its columns if they were declared."""

    id: str
    sql: dict[str, str]
    schema: Schema | None


def check_sql(sql: Sql) -> dict[str, str]:
    """The texts by dialect; `Invalid` if there is none, or if one can't be a query."""
    texts = {SPARK: sql} if isinstance(sql, str) else sql
    if not isinstance(texts, Mapping) or not texts:
        raise Invalid("a view needs SQL", expected="text, or texts by dialect", found=repr(sql))
    for dialect, text in texts.items():
        if not isinstance(dialect, str) or not _DIALECT.fullmatch(dialect):
            raise Invalid(
                "this is not the name of an SQL dialect", subject=repr(dialect), expected="a name like spark or trino"
            )
        if not is_text(text) or not text.strip():
            raise Invalid("this is not an SQL query", subject=dialect, expected="text", found=repr(text))
        check_statement(text)
    return dict(sorted(texts.items()))


def create_view(
    work: Work,
    name: Name,
    sql: Sql,
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    schema: Schema | None = None,
) -> str:
    """Create a view and return its id; the objects that its text names need not exist."""
    texts = check_sql(sql)
    given = with_comment(properties, comment)
    parent, own = free_place(work, parse_name(name))
    view = work.new_id(spelled(parse_name(name)))
    work.put_new_life(view, life(pb.VIEW, parent, own))
    work.put_attribute(view, Attribute.PROPERTIES, pb.TableProperties(properties=given))
    _put_text(work, view, texts, schema)
    work.note(Operation("create", view, spelled(parse_name(name))))
    return view


def put_view(
    work: Work,
    name: Name,
    sql: Sql,
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    schema: Schema | None = None,
) -> str:
    """Create a view, or replace all of the one that has the name but its id, and return its id."""
    if not exists(work, name, pb.VIEW):
        return create_view(work, name, sql, properties, comment, schema)
    view = find_view(work, name)
    set_sql(work, view, sql, schema)
    put_properties(work, view, with_comment(properties, comment))
    return view


def find_view(work: Work, name: Name) -> str:
    """The id of the view with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.VIEW)


def view_state(work: Work, view: str) -> ViewState:
    """The view as the work sees it; `NotFound` if it is not alive."""
    work.load_with_path(view, Attribute.VIEW)
    work.path(view)
    record = cast("pb.ViewText | None", work.attribute(view, Attribute.VIEW))
    if record is None:
        raise missing_record(work, view)
    schema = schema_of(work, view, record.schema_id) if record.HasField("schema_id") else None
    return ViewState(view, dict(sorted(record.sql.items())), schema)


def set_sql(work: Work, view: str, sql: Sql, schema: Schema | None = None) -> None:
    """Replace a view's query. Dialects that are not given are removed, because their texts would be outdated."""
    texts = check_sql(sql)
    name = spelled(name_of(work, view))
    view_state(work, view)
    _put_text(work, view, texts, schema)
    work.note(Operation("alter_view", view, name, detail=", ".join(texts)))


def _put_text(work: Work, view: str, texts: dict[str, str], schema: Schema | None) -> None:
    if SPARK in texts:
        check_view_text(work, texts[SPARK])
    record = pb.ViewText(sql=texts)
    if schema is not None:
        check_nesting(schema.fields)
        # Taken from the allocator, so that two branches never give one id to two schemas.
        numbered = with_ids(schema, work.context.metastore.allocate(view, SCHEMA), 1)
        work.put_body(view, SCHEMA, numbered.id, schema_to_json(numbered))
        record.schema_id = numbered.id
    work.put_attribute(view, Attribute.VIEW, record)
