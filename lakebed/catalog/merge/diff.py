"""What would turn one state of a catalog into another: objects created, dropped, renamed, changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.merge_base import Head, divergence, touched
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
    """One thing of an object that differs: what, from what, to what. None is nothing."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One object that differs. `kind` is created, dropped, renamed or changed; a renamed one may be changed too.

    `name` is that of the second state, of a dropped object that of the first.
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
        parts = [f"{one.what}: {one.before} to {one.after}" for one in self.changes]
        if self.files_added or self.files_removed or self.files_changed:
            parts.append(
                f"files +{self.files_added} -{self.files_removed} ~{self.files_changed}, "
                f"rows +{self.rows_added} -{self.rows_removed}"
            )
        told = f"{self.kind} {self.type} {name}".rstrip()
        return told + (f" ({'; '.join(parts)})" if parts else "")


def diff(context: Context, first: Head, second: Head) -> list[Difference]:
    """What would turn the first state into the second, by name. Its cost follows what changed, not what there is."""
    if first.ref.catalog != second.ref.catalog:
        raise Invalid("these are lines of two catalogs", expected="two states of one")
    apart = divergence(context, first, second)
    ids = dict.fromkeys([*touched(apart.ours), *touched(apart.theirs)])
    one, other = Work(context, first.ref, first.version), Work(context, second.ref, second.version)
    before, after = read_states(one, ids), read_states(other, ids)
    found = {row.object_id: row for id in ids for row in _compared(one, other, before.get(id), after.get(id))}
    return sorted(found.values(), key=lambda row: (row.name, row.object_id))


def _compared(one: Work, other: Work, before: ObjectState | None, after: ObjectState | None) -> Iterator[Difference]:
    was = before is not None and one.is_alive(before.id)
    now = after is not None and other.is_alive(after.id)
    if was and now:
        assert before is not None
        assert after is not None
        yield from _changed(one, other, before, after)
    elif was and before is not None:
        yield from _with_all_inside(one, other, before, "dropped")
    elif now and after is not None:
        yield from _with_all_inside(other, one, after, "created")


def _changed(one: Work, other: Work, before: ObjectState, after: ObjectState) -> Iterator[Difference]:
    old, new = last_name(one, before.id), last_name(other, after.id)
    # What is in a renamed namespace has another whole name too, and nothing was done to it.
    renamed = before.place != after.place
    changes, counts = tuple(_parts(before, after)), _file_counts(one, other, before, after)
    if renamed or changes or counts:
        kind = "renamed" if renamed else "changed"
        row = Difference(kind, after.id, kind_name(after), new, old if renamed else None, changes)
        yield replace(row, **counts)


def _with_all_inside(there: Work, elsewhere: Work, state: ObjectState, kind: str) -> Iterator[Difference]:
    """An object that only one state has, with what it holds, unless that has gone elsewhere."""
    counts = _sums("added" if kind == "created" else "removed", _live_files(there, state))
    yield replace(Difference(kind, state.id, kind_name(state), last_name(there, state.id)), **counts)
    if state.type == pb.NAMESPACE:
        inside = [child.id for child in there.children(state.id)]
        for child in read_states(there, inside).values():
            if not elsewhere.is_alive(child.id):
                yield from _with_all_inside(there, elsewhere, child, kind)


def _parts(before: ObjectState, after: ObjectState) -> Iterator[PartChange]:
    for key in sorted({*before.properties, *after.properties}):
        old, new = before.properties.get(key), after.properties.get(key)
        if old != new:
            yield PartChange(f"property {key}", old, new)
    if before.view != after.view:
        yield PartChange("view", _text(before.view), _text(after.view))
    if before.table is not None and after.table is not None:
        yield from _table_parts(before.table, after.table)


def _table_parts(before: TableState, after: TableState) -> Iterator[PartChange]:
    if before.schema != after.schema:
        yield from _column_parts(before, after)
    if before.schema.key != after.schema.key:
        yield PartChange("primary key", ", ".join(before.schema.key) or None, ", ".join(after.schema.key) or None)
    specs = [", ".join(spec_texts(one.spec, one.schema)) or None for one in (before, after)]
    if before.spec != after.spec:
        yield PartChange("spec", *specs)
    orders = [", ".join(order_texts(one.sort_order, one.schema)) or None for one in (before, after)]
    if before.sort_order != after.sort_order:
        yield PartChange("sort order", *orders)


def _column_parts(before: TableState, after: TableState) -> Iterator[PartChange]:
    columns = [_columns(one) for one in (before, after)]
    for field_id in sorted({*columns[0], *columns[1]}):
        old, new = (one.get(field_id) for one in columns)
        if old != new:
            yield PartChange(
                f"column {before.schema.path_of(field_id) if old else after.schema.path_of(field_id)}", old, new
            )
    if columns[0] == columns[1] and before.schema.names != after.schema.names:
        yield PartChange("column order", ", ".join(before.schema.names), ", ".join(after.schema.names))


def _columns(table: TableState) -> dict[int, str]:
    return {
        id: f"{table.schema.path_of(id)} {way[-1].type}{' not null' if way[-1].required else ''}"
        for id, way in table.schema.ways.items()
    }


def _file_counts(one: Work, other: Work, before: ObjectState, after: ObjectState) -> dict[str, Any]:
    if before.delta == after.delta:
        return {}
    old, new = ({file.path: file for file in files} for files in (_live_files(one, before), _live_files(other, after)))
    changed = [path for path in old.keys() & new.keys() if file_state(old[path]) != file_state(new[path])]
    counts = {
        **_sums("added", [new[path] for path in new.keys() - old.keys()]),
        **_sums("removed", [old[path] for path in old.keys() - new.keys()]),
    }
    for path in changed:
        rows = new[path].deleted_rows - old[path].deleted_rows
        name = "rows_removed" if rows > 0 else "rows_added"
        counts[name] = counts.get(name, 0) + abs(rows)
    return counts | ({"files_changed": len(changed)} if changed else {})


def _live_files(work: Work, state: ObjectState) -> Sequence[DataFileRef]:
    return [] if state.table is None else list(committed_files(work, state.table).values())


def _sums(what: str, files: Sequence[DataFileRef]) -> dict[str, Any]:
    if not files:
        return {}
    return {f"files_{what}": len(files), f"rows_{what}": sum(one.num_rows - one.deleted_rows for one in files)}


def _text(view: object) -> str | None:
    return None if view is None else str(view)
