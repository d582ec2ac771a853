"""A column that another line has too: of one name and type, it is one column, whoever adds it first.

The second line gives it the id and the name in files that it has on the first. So the rows of both show their values
wherever they meet: in merges, feeds and differences. A column that this line has ever had, in a schema or in files that
came from elsewhere, is never taken up again: what was dropped would come back. Nor is one that any line has dropped.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import cast

from lakebed.catalog.data.deltas import history, record_of, stored_manifest
from lakebed.catalog.tables.ids import KnownName
from lakebed.catalog.transaction.bodies import DROPPED_FIELD, SCHEMA
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.manifest.delta import ADDED
from lakebed.table.manifest.file_fields import field_ids_of
from lakebed.table.schema.evolution import is_like
from lakebed.table.schema.json import schema_from_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, leaves, walk

LOOKED_AT = 1000
"""How many of the newest schemas of other lines are looked at: a table that evolves without end does not get slower."""

_FROM_ELSEWHERE = (pb.MERGE_BRANCH,)
"""What brings files with values of a column that lost a conflict. Rows that were picked show the values they have."""


def column_of_another_line(work: Work, table: str, below: int, above: int | None, new: Field) -> KnownName:
    """The column that another line has in the same struct, with the name and the type of a new one, if there is one.

    `below` is a number above those of all schemas of the table, `above` the id of the struct.
    """
    own = _numbers_on_line(work, table)
    others = [number for number in range(below - 1, 0, -1) if number not in own][:LOOKED_AT]
    bodies = work.context.metastore.bodies([(table, SCHEMA, number) for number in others])
    stored = [body for body in bodies if body is not None]
    known = [*work.bodies(table, SCHEMA).values(), *_bodies(work, table, own)]
    found = (one for one in _alike(stored, above, new) if not _is_dropped(work, table, one))
    column = next((one for one in found if not _was_here(work, table, known, one)), None)
    return KnownName(column, _newest_named([*stored, *known], above, new.name))


def _newest_named(bodies: Iterable[bytes], above: int | None, name: str) -> int:
    """The highest id of a column with a name in a struct; 0 if there is none."""
    text = json.dumps(name, ensure_ascii=False).encode()
    named = (schema_from_json(body) for body in bodies if text in body)
    return max((one.id for schema in named for one in _fields_in(schema, above) if one.name == name), default=0)


def _is_dropped(work: Work, table: str, column: Field) -> bool:
    [noted] = work.context.metastore.bodies([(table, DROPPED_FIELD, column.id)])
    return noted is not None


def _alike(bodies: list[bytes], above: int | None, new: Field) -> Iterator[Field]:
    """The columns that are like the new one in the newest schema that they are in; bodies come newest first."""
    name = json.dumps(new.name, ensure_ascii=False).encode()  # as a schema's body has it: most are not parsed
    seen: set[int] = set()
    for place, body in enumerate(bodies):
        if name not in body:
            continue
        for one in _fields_in(schema_from_json(body), above):
            if one.id in seen or not is_like(one, new):
                continue
            seen.add(one.id)
            newer = (schema_from_json(other) for other in bodies[:place])
            if not any(one.id in schema.ways for schema in newer):
                yield one


def _fields_in(schema: Schema, above: int | None) -> tuple[Field, ...]:
    if above is None:
        return schema.fields
    around = schema.ways[above][-1] if above in schema.ways else None
    return () if around is None else getattr(around.type, "fields", ())


def _was_here(work: Work, table: str, schemas: Iterable[bytes], column: Field) -> bool:
    """Whether this line has ever had the column, or files with its values."""
    ids = {way[-1].id for way in walk((column,))}
    if any(not ids.isdisjoint(schema_from_json(body).ways) for body in schemas):
        return True
    with_statistics = {way[-1].id for way in leaves((column,))}
    return any(
        not with_statistics or _has_values(work, delta, ids, with_statistics)
        for cell in _cells(work, table)
        for delta in history(work, cell)
        if record_of(delta).operation in _FROM_ELSEWHERE
    )


def _has_values(work: Work, delta: State, ids: set[int], with_statistics: set[int]) -> bool:
    """Whether files that a delta brought have values of a column: every file has statistics of each that it has."""
    return any(
        not with_statistics.isdisjoint(known.field_id for known in file.statistics)
        or not ids.isdisjoint(field_ids_of(file) or ())
        for file in stored_manifest(work.context, delta).data_files
        if file.status == ADDED
    )


def _cells(work: Work, table: str) -> set[str]:
    """Where the table's files are or were, and those of what is or was staged for it."""
    holder = str(table)
    staged = [
        child.id for child in every(partial(work.reader.children, holder)) if child.type in (pb.STREAM, pb.PARTITION)
    ]
    staged += [row.id for row in every(partial(work.reader.dropped, holder)) if row.type in (pb.STREAM, pb.PARTITION)]
    storages = [state for one in (holder, *staged) for state in history(work, one, attribute=Attribute.STORAGE)]
    return {cast(pb.TableStorage, state.record).partition_id for state in storages} | set(staged)


def _numbers_on_line(work: Work, table: str) -> set[int]:
    past = history(work, table, attribute=Attribute.SCHEMA)
    return {cast(pb.TableSchema, state.record).schema_id for state in past}


def _bodies(work: Work, table: str, numbers: Iterable[int]) -> Iterator[bytes]:
    wanted = [(str(table), SCHEMA, number) for number in sorted(numbers)]
    return (body for body in work.context.metastore.bodies(wanted) if body is not None)
