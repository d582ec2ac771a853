"""Evolution of a table: steps that change its schema, partition spec, sort order or key, committed as one change.

A step is a value that can be applied to any state of the table: first to the state that the caller saw, to check at
once that it is legal, and then to the newest state, which another writer may have changed.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lakebed.catalog.objects.properties import properties_of, put_properties
from lakebed.catalog.tables.checks import changes_lengths, evolved_checks
from lakebed.catalog.tables.ids import DraftIds, KnownColumn, TableIds, TakenIds
from lakebed.catalog.tables.properties import Properties
from lakebed.catalog.tables.tables import TableState, note_dropped, put_schema, put_sort_order, put_spec, table_state
from lakebed.catalog.transaction.bodies import FIELD, PARTITION_FIELD, SORT_ORDER, SPEC
from lakebed.catalog.transaction.commits import Argument
from lakebed.catalog.transaction.conflicts import changed_meanwhile
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import children, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid
from lakebed.metastore import Clash, Commit, Operation
from lakebed.records import records_pb2 as pb
from lakebed.store import Version
from lakebed.table.partition.explicit import partition_columns
from lakebed.table.partition.json import order_from_json, spec_from_json
from lakebed.table.partition.sort_order import UNSORTED, SortOrder, make_sort_order
from lakebed.table.partition.spec import (
    FIRST_FIELD_ID,
    UNPARTITIONED,
    PartitionSpec,
    changed_terms,
    check_field_names,
    make_spec,
)
from lakebed.table.schema import evolution
from lakebed.table.schema.evolution import Position
from lakebed.table.schema.schema import Path, Schema, physical_names
from lakebed.table.types.names import folded_column, physical_name
from lakebed.table.types.types import Field, Type, Way, children_of, named_fields, with_children

Relied = Callable[[TableState], object]
"""What a step relies on: a value taken from the table that has to be the same in both states."""

SpecOrOrder = TypeVar("SpecOrOrder", PartitionSpec, SortOrder)

_COLUMNS = {"add_column", "drop_column", "rename_column", "retype_column", "move_column"}
_OPERATIONS = {*_COLUMNS, "change_spec", "change_sort", "change_key"}
_DRAFT_ID = 1 << 30  # above the ids of all partition fields


@dataclass(frozen=True, slots=True)
class Step:
    """One change. `arguments` are as given; `relies` says, for the state that was seen, what must not have changed.

    So two writers can add columns at once, and neither silently undoes what the other did to the same column.
    """

    operation: str
    detail: str
    arguments: tuple[Argument, ...]
    take: Callable[[TableState, TableIds], TableState]
    relies: Callable[[TableState], Relied]


class Evolution:
    """Steps, each checked when it is added; `make` applies them to the newest state, and may be called again."""

    def __init__(self, seen: TableState, version: Version, properties: Properties, find_known: KnownColumn) -> None:
        self._seen = seen
        self._properties = properties
        self._version = version
        self._drafted = seen
        self._draft_ids = DraftIds()
        self._ids = TakenIds(seen.id, find_known)
        self._steps: list[tuple[Step, Relied]] = []

    @property
    def arguments(self) -> list[Argument]:
        """The steps as arguments of a request."""
        return [[step.operation, *step.arguments] for step, _ in self._steps]

    def add(self, step: Step) -> None:
        """Add a step, or refuse it if it is illegal after the steps before it."""
        relied = step.relies(self._drafted)
        drafted = step.take(self._drafted, self._draft_ids)
        check_field_names(drafted.spec, drafted.schema)
        evolved_checks(self._properties, self._seen.schema, drafted.schema)
        self._drafted = drafted
        self._steps.append((step, relied))

    def make(self, work: Work) -> None:
        """Apply all steps to the table as the work sees it."""
        before = table_state(work, self._seen.id)
        name = spelled(name_of(work, before.id))
        if before.id != self._seen.id:  # another edition was activated: its columns have other ids
            raise self._conflict(work, name)
        for step, relied in self._steps:
            if relied(before) != relied(self._seen):
                raise self._conflict(work, f"{name}: {step.detail}")
        self._ids.begin(work)
        after = before
        for step, _ in self._steps:
            after = step.take(after, self._ids)
        check_field_names(after.spec, after.schema)
        _check_partitions(work, before, after)
        _put(work, before, after, self._ids)
        _put_checks(work, before, after)
        for step, _ in self._steps:
            work.note(Operation(step.operation, before.id, name, detail=step.detail))

    def _conflict(self, work: Work, subject: str) -> Conflict:
        commit = _last_evolution(work, self._seen.id, self._version)
        clashes = () if commit is None else (Clash("schema", self._seen.id, self._version, commit.version, commit),)
        rows = [changed_meanwhile(work, clash) for clash in clashes]
        return Conflict(
            f"the same part of the table was changed{rows[0].by if rows else ' by another commit'}",
            subject=subject,
            expected=f"nothing after version {self._version}",
            advice="Look at the table as it is now, and decide again.",
            conflicts=rows,
        )


def _last_evolution(work: Work, table: str, since: Version) -> Commit | None:
    commits = [commit for commit in work.reader.log(object_id=table, limit=100).items if commit.version > since]
    return next((commit for commit in commits if any(done.type in _OPERATIONS for done in commit.operations)), None)


def _put(work: Work, before: TableState, after: TableState, ids: TableIds) -> None:
    if after.schema != before.schema:
        schema = after.schema
        note_dropped(work, before.id, before.schema, schema)
        put_schema(work, before.id, Schema(schema.fields, ids.schema_number(), schema.identifier_ids, schema.unknown))
    if after.spec != before.spec:
        put_spec(work, before.id, after.spec)
    if after.sort_order != before.sort_order:
        put_sort_order(work, before.id, after.sort_order)


def _put_checks(work: Work, before: TableState, after: TableState) -> None:
    """Write the table's checks again, if they changed with its columns."""
    if not changes_lengths(after.schema) and _keeps_names(before.schema, after.schema):
        return
    properties = properties_of(work, before.id)  # read: a check that is set meanwhile is a conflict
    evolved = evolved_checks(properties, before.schema, after.schema)
    if evolved != properties:
        put_properties(work, before.id, evolved)


def _keeps_names(before: Schema, after: Schema) -> bool:
    """Whether all columns are still there, by the names that they had."""
    return all(id in after.ways and _names(way) == _names(after.ways[id]) for id, way in before.ways.items())


def add_column(
    path: Path, type: Type | str, *, required: bool, default: Any, comment: str, position: Position | None
) -> Step:
    """Add a column; the struct around it must not have been renamed or dropped.

    If another line has a column of its name and type, it is that column.
    """
    count = evolution.column_id_count(type)

    def take(state: TableState, ids: TableIds) -> TableState:
        def added(numbers: Iterator[int], used: Collection[str], known: Field | None) -> Schema:
            return evolution.add_column(
                state.schema,
                path,
                type,
                ids=numbers,
                used_names=used,
                required=required,
                default=default,
                comment=comment,
                position=position,
                known=known,
            )

        above_id, new = evolution.new_column(state.schema, path, type)
        known = ids.known_column(above_id, new)
        if known is not None:
            return replace(state, schema=added(iter(()), (), known))
        first, used = ids.take(FIELD, count), set(ids.first_names())
        while True:
            schema = added(iter(range(first, first + count)), used, None)
            name = folded_column(schema.field_by_id(first).physical_name)
            if ids.claim(name):
                break
            used.add(name)
        first_added = ids.reserve(above_id, schema.field_by_id(first))
        return replace(state, schema=schema if first_added.id == first else added(iter(()), (), first_added))

    above = path.rpartition(".")[0] if isinstance(path, str) else path[:-1]
    given = (path, str(type), required, _default_argument(default), comment, _position_argument(position))
    return Step("add_column", _path_text(path), given, take, _column(above, _names) if above else _nothing)


def adopt_column(path: tuple[str, ...], column: Field) -> Step:
    """Add a column with the ids that another table gave it, so that files of that table have the table's own ids."""

    def take(state: TableState, ids: TableIds) -> TableState:
        known = ids.adopt(_path_text(path), column)
        used = {*ids.first_names(), *physical_names(state.schema)}
        named = replace(column, type=with_children(column.type, named_fields(children_of(column.type))))
        while known is None:
            name = physical_name(path[-1], column.id, used)
            used.add(folded_column(name))
            if ids.claim(folded_column(name)):
                known = replace(named, physical_name=name)
        schema = evolution.add_column(
            state.schema, path, column.type, ids=iter(()), comment=column.comment, known=known
        )
        return replace(state, schema=schema)

    given = (path, str(column.type), False, None, column.comment, None)
    return Step("add_column", _path_text(path), given, take, _column(path[:-1], _names) if path[1:] else _nothing)


def drop_column(path: Path) -> Step:
    """Drop a column; neither it nor the fields inside it may have changed."""

    def take(state: TableState, _: TableIds) -> TableState:
        in_use = state.spec.source_ids | state.sort_order.source_ids
        return replace(state, schema=evolution.drop_column(state.schema, path, in_use=in_use))

    return Step("drop_column", _path_text(path), (path,), take, _column(path, lambda way: (_names(way), way[-1])))


def rename_column(path: Path, name: str) -> Step:
    """Rename a column."""
    detail, take = f"{_path_text(path)} to {name}", _on_schema(evolution.rename_column, path, name)
    return Step("rename_column", detail, (path, name), take, _column_alone(path))


def move_column(path: Path, position: Position) -> Step:
    """Move a column to another position in its struct."""
    given, take = (path, _position_argument(position)), _on_schema(evolution.move_column, path, position)
    return Step("move_column", _path_text(path), given, take, _column_alone(path))


def widen_column(path: Path, type: Type | str) -> Step:
    """Give a column a wider type."""
    take = _on_schema(evolution.widen_column, path, type)
    return Step("retype_column", _path_text(path), ("type", path, str(type)), take, _column_alone(path))


def make_optional(path: Path) -> Step:
    """Let a column be null."""
    take = _on_schema(evolution.make_optional, path)
    return Step("retype_column", _path_text(path), ("optional", path), take, _column_alone(path))


def set_comment(path: Path, comment: str) -> Step:
    """Change a column's comment."""
    take = _on_schema(evolution.set_comment, path, comment)
    return Step("retype_column", _path_text(path), ("comment", path, comment), take, _column_alone(path))


def set_default(path: Path, default: Any) -> Step:
    """Change the default for rows that will be written without the column."""
    take = _on_schema(evolution.set_default, path, default)
    given = ("default", path, _default_argument(default))
    return Step("retype_column", _path_text(path), given, take, _column_alone(path))


def primary_key(names: Sequence[Path]) -> Step:
    """Change the table's primary key."""
    detail = ", ".join(map(_path_text, names))
    take = _on_schema(evolution.set_key, names)
    return Step("change_key", detail, tuple(names), take, _always(lambda state: state.schema.identifier_ids))


def drop_key_columns(names: Sequence[Path]) -> Step:
    """Remove columns from the table's primary key."""
    detail = ", ".join(map(_path_text, names))
    take = _on_schema(evolution.drop_key_columns, names)
    return Step("change_key", detail, ("drop", *names), take, _always(lambda state: state.schema.identifier_ids))


def partition_by(texts: Sequence[str]) -> Step:
    """Change how new files are partitioned."""

    def take(state: TableState, ids: TableIds) -> TableState:
        return replace(state, spec=_spec_by(state.schema, texts, ids))

    return Step("change_spec", ", ".join(texts), tuple(texts), take, _always(lambda state: state.spec))


def _check_partitions(work: Work, before: TableState, after: TableState) -> None:
    """Refuse a spec that has no place for the values of the table's explicit partitions."""
    if _value_columns(before) == _value_columns(after):
        return
    for partition in children(work, str(before.id), pb.PARTITION):
        raise Invalid(
            "the table has explicit partitions, whose values are of the columns that it is partitioned by as they are",
            subject=spelled(name_of(work, before.id)),
            found=f"partition {partition.name}",
            advice="Drop them first: drop_partition(…); or keep these columns in the spec.",
        )


def _value_columns(state: TableState) -> set[int]:
    return {field.id for field in partition_columns(state.spec, state.schema)}


def change_partitions(dropped: str | None, added: str | None) -> Step:
    """Drop a partition field, add one, or replace one by another; other fields may have changed."""

    def take(state: TableState, ids: TableIds) -> TableState:
        terms = changed_terms(state.spec, state.schema, dropped, added)
        return replace(state, spec=_spec_by(state.schema, terms, ids))

    detail = " to ".join(term for term in (dropped, added) if term is not None)
    return Step("change_spec", detail, ("fields", dropped, added), take, _nothing)


def sort_by(texts: Sequence[str]) -> Step:
    """Change how the rows of new files are sorted."""

    def take(state: TableState, ids: TableIds) -> TableState:
        return replace(state, sort_order=_sort_order_by(state.schema, texts, ids))

    return Step("change_sort", ", ".join(texts), tuple(texts), take, _always(lambda state: state.sort_order))


def _spec_by(schema: Schema, texts: Sequence[str], ids: TableIds) -> PartitionSpec:
    """The spec that the texts describe: one that the table had before, or one with new ids."""
    if not texts:
        return UNPARTITIONED
    earlier = [spec_from_json(body) for body in ids.of_line(SPEC)]
    draft = make_spec(schema, texts, spec_id=0, next_field_id=_DRAFT_ID, known=earlier)
    if (same := _same(draft.fields, earlier)) is not None:
        return same
    number = ids.take(SPEC)
    earlier = [spec_from_json(body) for body in ids.below(SPEC, number)]
    draft = make_spec(schema, texts, spec_id=number, next_field_id=_DRAFT_ID, known=earlier)
    new = sum(field.field_id >= _DRAFT_ID for field in draft.fields)
    if new:
        first = FIRST_FIELD_ID - 1 + ids.take(PARTITION_FIELD, new)
        return make_spec(schema, texts, spec_id=number, next_field_id=first, known=earlier)
    return _same(draft.fields, earlier) or draft


def _sort_order_by(schema: Schema, texts: Sequence[str], ids: TableIds) -> SortOrder:
    """The sort order that the texts describe: one that the table had before, or a new one."""
    if not texts:
        return UNSORTED
    draft = make_sort_order(schema, texts, order_id=_DRAFT_ID)
    if (same := _same(draft.fields, [order_from_json(body) for body in ids.of_line(SORT_ORDER)])) is not None:
        return same
    number = ids.take(SORT_ORDER)
    earlier = [order_from_json(body) for body in ids.below(SORT_ORDER, number)]
    return _same(draft.fields, earlier) or replace(draft, id=number)


def _same(fields: object, earlier: Sequence[SpecOrOrder]) -> SpecOrOrder | None:
    return next((one for one in earlier if one.fields == fields), None)


def _on_schema(change: Callable[..., Schema], *given: Any) -> Callable[[TableState, TableIds], TableState]:
    return lambda state, _: replace(state, schema=change(state.schema, *given))


def _nothing(_: TableState) -> Relied:
    return lambda state: None


def _always(what: Relied) -> Callable[[TableState], Relied]:
    return lambda _: what


def _column_alone(path: Path) -> Callable[[TableState], Relied]:
    """Relies on a column without the fields inside it."""
    return _column(path, lambda way: (_names(way), _without_parts(way[-1])))


def _column(path: Path, of: Callable[[Way], object]) -> Callable[[TableState], Relied]:
    """Relies on a column, found by its path at first and then by its id. Nobody else knows a new column."""

    def relies(state: TableState) -> Relied:
        id = state.schema.find(path).id
        return lambda other: of(other.schema.ways[id]) if id in other.schema.ways else None

    return relies


def _names(way: Way) -> object:
    return tuple((field.id, field.name) for field in way)


def _without_parts(column: Field) -> object:
    type = None if children_of(column.type) else column.type
    return type, column.required, column.comment, column.initial_default, column.write_default


def _default_argument(value: Any) -> Argument:
    return None if value is None else repr(value)


def _position_argument(position: Position | None) -> Argument:
    return None if position is None else (position.side.value, position.other)


def _path_text(path: Path) -> str:
    return path if isinstance(path, str) else ".".join(path)
