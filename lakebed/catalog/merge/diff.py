"""The differences between two states of a catalog: objects created, dropped, renamed, changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.levels import edition_text
from lakebed.catalog.merge.merge_base import Head, divergence, touched
from lakebed.catalog.merge.sides import ACTIVE, STATE, STREAM
from lakebed.catalog.merge.states import ObjectState, kind_name, read_states
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.records import records_pb2 as pb
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.sides import state as file_state
from lakebed.table.partition.sort_order import order_texts
from lakebed.table.partition.spec import spec_texts


@dataclass(frozen=True, slots=True)
class PartChange:
    """One part of an object that differs, before and after. None means that it was not set."""

    what: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        """`property owner: ada to bob`, `column note added: string`; long values are cut, Lakebed's own left out."""
        if self.what.startswith(_OWN):
            return f"{self.what} {'added' if self.before is None else 'removed' if self.after is None else 'changed'}"
        if self.before is None or self.after is None:
            return (
                f"{self.what} {'added' if self.before is None else 'removed'}: {_cut(self.before or self.after or '')}"
            )
        return f"{self.what}: {_cut(self.before)} to {_cut(self.after)}"


_LONGEST = 100
_OWN = "property lakebed."
"""Such as a merge in progress, and the positions of consumers: documents for programs."""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@dataclass(frozen=True, slots=True)
class ObjectDifference:
    """One object that differs. `kind` is created, dropped, renamed or changed; a renamed object may be changed too.

    `name` is the name in the second state; for a dropped object, in the first.
    """

    kind: str
    object_id: str
    type: str
    name: str
    old_name: str | None = None
    changes: tuple[PartChange, ...] = ()
    files_added: int = 0
    files_removed: int = 0
    files_changed: int = 0
    rows_added: int = 0
    rows_removed: int = 0

    def __str__(self) -> str:
        name = self.name if self.old_name is None else f"{self.old_name} to {self.name}"
        parts = [str(change) for change in self.changes]
        if self.files_added or self.files_removed or self.files_changed:
            parts.append(
                f"files +{self.files_added} -{self.files_removed} ~{self.files_changed}, "
                f"rows +{self.rows_added} -{self.rows_removed}"
            )
        subject = f"{self.kind} {self.type} {name}".rstrip()
        return subject + (f" ({'; '.join(parts)})" if parts else "")


def diff(context: Context, first: Head, second: Head) -> list[ObjectDifference]:
    """The differences between two states, sorted by name. The cost grows with the changes, not with the catalog."""
    if first.ref.catalog != second.ref.catalog:
        raise Invalid("the states belong to different catalogs", expected="two states of one catalog")
    apart = divergence(context, first, second)
    ids = dict.fromkeys([*touched(apart.ours), *touched(apart.theirs)])
    old, new = Work(context, first.ref, first.version), Work(context, second.ref, second.version)
    before, after = read_states(old, ids), read_states(new, ids)
    rows = {row.object_id: row for id in ids for row in _differences(old, new, before.get(id), after.get(id))}
    return sorted(rows.values(), key=lambda row: (row.name, row.object_id))


def _differences(
    old: Work, new: Work, before: ObjectState | None, after: ObjectState | None
) -> Iterator[ObjectDifference]:
    was_alive = before is not None and old.is_alive(before.id)
    now_alive = after is not None and new.is_alive(after.id)
    if was_alive and now_alive:
        assert before is not None
        assert after is not None
        yield from _changes(old, new, before, after)
    elif was_alive and before is not None:
        yield from _with_descendants(old, new, before, "dropped")
    elif now_alive and after is not None:
        yield from _with_descendants(new, old, after, "created")


def _changes(old: Work, new: Work, before: ObjectState, after: ObjectState) -> Iterator[ObjectDifference]:
    old_name, new_name = last_name(old, before.id), last_name(new, after.id)
    # Objects in a renamed namespace have another full name too, but nothing was done to them.
    renamed = before.place != after.place
    changes = *_active_change(old, new, before, after), *_part_changes(before, after)
    counts = _file_counts(old, new, before, after)
    if renamed or changes or counts:
        kind = "renamed" if renamed else "changed"
        row = ObjectDifference(kind, after.id, kind_name(after), new_name, old_name if renamed else None, changes)
        yield replace(row, **counts)


def _with_descendants(there: Work, elsewhere: Work, state: ObjectState, kind: str) -> Iterator[ObjectDifference]:
    """An object that only one state has, with its descendants, except those that the other state has elsewhere."""
    counts = _sums("added" if kind == "created" else "removed", _live_files(there, state))
    yield replace(ObjectDifference(kind, state.id, kind_name(state), last_name(there, state.id)), **counts)
    if state.type in (pb.NAMESPACE, pb.TABLE, pb.EDITION):
        inside = [child.id for child in there.children(state.id)]
        for child in read_states(there, inside).values():
            if not elsewhere.is_alive(child.id):
                yield from _with_descendants(there, elsewhere, child, kind)


def _active_change(old: Work, new: Work, before: ObjectState, after: ObjectState) -> Iterator[PartChange]:
    if before.active != after.active:
        yield PartChange(ACTIVE, edition_text([old, new], before.active), edition_text([new, old], after.active))


def _part_changes(before: ObjectState, after: ObjectState) -> Iterator[PartChange]:
    yield from _text_changes("property ", before.properties, after.properties)
    yield from _text_changes("", before.fields, after.fields)
    for what, old, new in ((STREAM, before.stream, after.stream), (STATE, before.state, after.state)):
        if old != new:
            yield PartChange(what, old or None, new or None)
    if before.view != after.view:
        yield PartChange("view", _view_text(before.view), _view_text(after.view))
    if before.partition != after.partition:
        yield PartChange("partition", str(before.partition), str(after.partition))
    if before.table is not None and after.table is not None:
        yield from _table_changes(before.table, after.table)


def _text_changes(what: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[PartChange]:
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield PartChange(f"{what}{key}", before.get(key), after.get(key))


def _table_changes(before: TableState, after: TableState) -> Iterator[PartChange]:
    if before.schema != after.schema:
        yield from _column_changes(before, after)
    if before.schema.key != after.schema.key:
        yield PartChange("primary key", ", ".join(before.schema.key) or None, ", ".join(after.schema.key) or None)
    specs = [", ".join(spec_texts(table.spec, table.schema)) or None for table in (before, after)]
    if before.spec != after.spec:
        yield PartChange("spec", *specs)
    orders = [", ".join(order_texts(table.sort_order, table.schema)) or None for table in (before, after)]
    if before.sort_order != after.sort_order:
        yield PartChange("sort order", *orders)


def _column_changes(before: TableState, after: TableState) -> Iterator[PartChange]:
    old_columns, new_columns = _columns(before), _columns(after)
    for field_id in sorted({*old_columns, *new_columns}):
        old, new = old_columns.get(field_id), new_columns.get(field_id)
        if old != new:
            schema = before.schema if old else after.schema
            yield PartChange(f"column {schema.path_of(field_id)}", old, new)
    if old_columns == new_columns and before.schema.names != after.schema.names:
        yield PartChange("column order", ", ".join(before.schema.names), ", ".join(after.schema.names))


def _columns(table: TableState) -> dict[int, str]:
    return {
        id: f"{table.schema.path_of(id)} {way[-1].type}{' not null' if way[-1].required else ''}"
        for id, way in table.schema.ways.items()
    }


def _file_counts(old: Work, new: Work, before: ObjectState, after: ObjectState) -> dict[str, Any]:
    if before.delta == after.delta:
        return {}
    then, now = ({file.path: file for file in files} for files in (_live_files(old, before), _live_files(new, after)))
    changed = [path for path in then.keys() & now.keys() if file_state(then[path]) != file_state(now[path])]
    counts = {
        **_sums("added", [now[path] for path in now.keys() - then.keys()]),
        **_sums("removed", [then[path] for path in then.keys() - now.keys()]),
    }
    for path in changed:
        rows = now[path].deleted_rows - then[path].deleted_rows
        name = "rows_removed" if rows > 0 else "rows_added"
        counts[name] = counts.get(name, 0) + abs(rows)
    return counts | ({"files_changed": len(changed)} if changed else {})


def _live_files(work: Work, state: ObjectState) -> Sequence[DataFileRef]:
    return [] if state.table is None else list(committed_files(work, state.table).values())


def _sums(what: str, files: Sequence[DataFileRef]) -> dict[str, Any]:
    if not files:
        return {}
    return {f"files_{what}": len(files), f"rows_{what}": sum(file.num_rows - file.deleted_rows for file in files)}


def _view_text(view: object) -> str | None:
    return None if view is None else str(view)
