"""Evolution of a table: steps that change its schema, partition spec, sort order or key, committed as one change.

A step is a value, and can be taken on any state of the table: first on the one that the caller saw, which tells at once
whether it is legal, then on the one that is committed, if somebody else was quicker on a newer one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lakebed.catalog.tables.ids import DraftIds, TableIds, TakenIds
from lakebed.catalog.tables.tables import TableState, put_schema, put_sort_order, put_spec, table_state
from lakebed.catalog.transaction.bodies import FIELD, PARTITION_FIELD, SCHEMA, SORT_ORDER, SPEC
from lakebed.catalog.transaction.commits import Argument
from lakebed.catalog.transaction.conflicts import changed_meanwhile
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict
from lakebed.metastore import Clash, Commit, Operation
from lakebed.store import Version
from lakebed.table.partition.json import order_from_json, spec_from_json
from lakebed.table.partition.sort_order import UNSORTED, SortOrder, make_sort_order
from lakebed.table.partition.spec import FIRST_FIELD_ID, UNPARTITIONED, PartitionSpec, check_field_names, make_spec
from lakebed.table.schema import evolution
from lakebed.table.schema.evolution import Position
from lakebed.table.schema.schema import Path, Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Type, Way, children_of

Relied = Callable[[TableState], object]

Form = TypeVar("Form", PartitionSpec, SortOrder)

_COLUMNS = {"add_column", "drop_column", "rename_column", "retype_column", "move_column"}
_OPERATIONS = {*_COLUMNS, "change_spec", "change_sort", "change_key"}
_DRAFT = 1 << 30  # above the ids of all partition fields


@dataclass(frozen=True, slots=True)
class Step:
    """One change. `arguments` are as given; `relies` says, on the state that was seen, what has to stay as it is there.

    So two people can add columns at once, and neither undoes unseen what the other did to one and the same thing.
    """

    operation: str
    detail: str
    arguments: tuple[Argument, ...]
    take: Callable[[TableState, TableIds], TableState]
    relies: Callable[[TableState], Relied]


class Evolution:
    """Steps, each checked when it is added, that `make` takes on the newest state as often as it is asked to."""

    def __init__(self, seen: TableState, version: Version) -> None:
        self._seen = seen
        self._version = version
        self._drafted = seen
        self._draft_ids = DraftIds()
        self._ids = TakenIds(seen.id)
        self._steps: list[tuple[Step, Relied]] = []

    @property
    def arguments(self) -> list[Argument]:
        """All steps, as they were given."""
        return [[step.operation, *step.arguments] for step, _ in self._steps]

    def add(self, step: Step) -> None:
        """Add a step, or refuse it as it stands after those before it."""
        relied = step.relies(self._drafted)
        drafted = step.take(self._drafted, self._draft_ids)
        check_field_names(drafted.spec, drafted.schema)
        self._drafted = drafted
        self._steps.append((step, relied))

    def make(self, work: Work) -> None:
        """Take all steps on the table as the work sees it."""
        before = table_state(work, self._seen.id)
        name = spelled(name_of(work, before.id))
        for step, relied in self._steps:
            if relied(before) != relied(self._seen):
                raise self._conflict(work, f"{name}: {step.detail}")
        self._ids.begin(work)
        after = before
        for step, _ in self._steps:
            after = step.take(after, self._ids)
        check_field_names(after.spec, after.schema)
        _put(work, before, after, self._ids)
        for step, _ in self._steps:
            work.note(Operation(step.operation, before.id, name, detail=step.detail))

    def _conflict(self, work: Work, subject: str) -> Conflict:
        commit = _last_evolution(work, self._seen.id, self._version)
        clashes = () if commit is None else (Clash("schema", self._seen.id, self._version, commit.version, commit),)
        rows = [changed_meanwhile(work, clash) for clash in clashes]
        return Conflict(
            f"this was changed meanwhile{rows[0].by if rows else ''}",
            subject=subject,
            expected=f"nothing after version {self._version}",
            advice="Look at the table as it is now, and decide anew.",
            conflicts=rows,
        )


def _last_evolution(work: Work, table: str, since: Version) -> Commit | None:
    commits = [one for one in work.reader.log(object_id=table, limit=100).items if one.version > since]
    return next((one for one in commits if any(each.type in _OPERATIONS for each in one.operations)), None)


def _put(work: Work, before: TableState, after: TableState, ids: TableIds) -> None:
    if after.schema != before.schema:
        schema = after.schema
        put_schema(work, before.id, Schema(schema.fields, ids.take(SCHEMA), schema.identifier_ids))
    if after.spec != before.spec:
        put_spec(work, before.id, after.spec)
    if after.sort_order != before.sort_order:
        put_sort_order(work, before.id, after.sort_order)


def add_column(
    path: Path, type: Type | str, *, required: bool, default: Any, comment: str, position: Position | None
) -> Step:
    """Add a column; what it is inside of has to stay."""

    def take(state: TableState, ids: TableIds) -> TableState:
        count = evolution.column_id_count(type)
        first, used = ids.take(FIELD, count), set(ids.first_names())
        while True:
            schema = evolution.add_column(
                state.schema,
                path,
                type,
                ids=iter(range(first, first + count)),
                used_names=used,
                required=required,
                default=default,
                comment=comment,
                position=position,
            )
            name = folded_column(schema.field_by_id(first).physical_name)
            if ids.claim(name):
                return replace(state, schema=schema)
            used.add(name)

    above = path.rpartition(".")[0] if isinstance(path, str) else path[:-1]
    given = (path, str(type), required, _given(default), comment, _place(position))
    return Step("add_column", _text(path), given, take, _column(above, _names) if above else _nothing)


def drop_column(path: Path) -> Step:
    """Take a column away, with all that was inside it when it was looked at."""

    def take(state: TableState, _: TableIds) -> TableState:
        in_use = state.spec.source_ids | state.sort_order.source_ids
        return replace(state, schema=evolution.drop_column(state.schema, path, in_use=in_use))

    return Step("drop_column", _text(path), (path,), take, _column(path, lambda way: (_names(way), way[-1])))


def rename_column(path: Path, name: str) -> Step:
    """Give a column another name."""
    detail = f"{_text(path)} to {name}"
    return Step("rename_column", detail, (path, name), _on_schema(evolution.rename_column, path, name), _own(path))


def move_column(path: Path, position: Position) -> Step:
    """Put a column in another place of its struct."""
    given = (path, _place(position))
    return Step("move_column", _text(path), given, _on_schema(evolution.move_column, path, position), _own(path))


def widen_column(path: Path, type: Type | str) -> Step:
    """Give a column a wider type."""
    take = _on_schema(evolution.widen_column, path, type)
    return Step("retype_column", _text(path), ("type", path, str(type)), take, _own(path))


def make_optional(path: Path) -> Step:
    """Let a column be null."""
    return Step("retype_column", _text(path), ("optional", path), _on_schema(evolution.make_optional, path), _own(path))


def set_comment(path: Path, comment: str) -> Step:
    """Say something else of a column."""
    take = _on_schema(evolution.set_comment, path, comment)
    return Step("retype_column", _text(path), ("comment", path, comment), take, _own(path))


def set_default(path: Path, default: Any) -> Step:
    """Give a column another default for rows that will come without it."""
    take = _on_schema(evolution.set_default, path, default)
    return Step("retype_column", _text(path), ("default", path, _given(default)), take, _own(path))


def primary_key(names: Sequence[Path]) -> Step:
    """Give the table another primary key."""
    detail = ", ".join(map(_text, names))
    take = _on_schema(evolution.set_key, names)
    return Step("change_key", detail, tuple(names), take, _always(lambda state: state.schema.identifier_ids))


def partition_by(texts: Sequence[str]) -> Step:
    """Set files apart by something else from now on."""

    def take(state: TableState, ids: TableIds) -> TableState:
        return replace(state, spec=_spec(state.schema, texts, ids))

    return Step("change_spec", _listed(texts), tuple(texts), take, _always(lambda state: state.spec))


def sort_by(texts: Sequence[str]) -> Step:
    """Sort the rows of files by something else from now on."""

    def take(state: TableState, ids: TableIds) -> TableState:
        return replace(state, sort_order=_order(state.schema, texts, ids))

    return Step("change_sort", _listed(texts), tuple(texts), take, _always(lambda state: state.sort_order))


def _spec(schema: Schema, texts: Sequence[str], ids: TableIds) -> PartitionSpec:
    """The spec that the texts mean: one that the table had before, or one with new ids."""
    if not texts:
        return UNPARTITIONED
    earlier = [spec_from_json(body) for body in ids.of_line(SPEC)]
    draft = make_spec(schema, texts, spec_id=0, next_field_id=_DRAFT, known=earlier)
    if (same := _same(draft.fields, earlier)) is not None:
        return same
    number = ids.take(SPEC)
    earlier = [spec_from_json(body) for body in ids.below(SPEC, number)]
    draft = make_spec(schema, texts, spec_id=number, next_field_id=_DRAFT, known=earlier)
    new = sum(one.field_id >= _DRAFT for one in draft.fields)
    if new:
        first = FIRST_FIELD_ID - 1 + ids.take(PARTITION_FIELD, new)
        return make_spec(schema, texts, spec_id=number, next_field_id=first, known=earlier)
    return _same(draft.fields, earlier) or draft


def _order(schema: Schema, texts: Sequence[str], ids: TableIds) -> SortOrder:
    """The order that the texts mean: one that the table had before, or a new one."""
    if not texts:
        return UNSORTED
    draft = make_sort_order(schema, texts, order_id=_DRAFT)
    if (same := _same(draft.fields, [order_from_json(body) for body in ids.of_line(SORT_ORDER)])) is not None:
        return same
    number = ids.take(SORT_ORDER)
    earlier = [order_from_json(body) for body in ids.below(SORT_ORDER, number)]
    return _same(draft.fields, earlier) or replace(draft, id=number)


def _same(fields: object, earlier: Sequence[Form]) -> Form | None:
    return next((one for one in earlier if one.fields == fields), None)


def _on_schema(change: Callable[..., Schema], *given: Any) -> Callable[[TableState, TableIds], TableState]:
    return lambda state, _: replace(state, schema=change(state.schema, *given))


def _nothing(_: TableState) -> Relied:
    return lambda state: None


def _always(what: Relied) -> Callable[[TableState], Relied]:
    return lambda _: what


def _own(path: Path) -> Callable[[TableState], Relied]:
    """A column without what is inside it."""
    return _column(path, lambda way: (_names(way), _without_parts(way[-1])))


def _column(path: Path, of: Callable[[Way], object]) -> Callable[[TableState], Relied]:
    """What relies on a column, which is found by its path once and then by its id. A new one is nobody else's."""

    def relies(state: TableState) -> Relied:
        id = state.schema.find(path).id
        return lambda other: of(other.schema.ways[id]) if id in other.schema.ways else None

    return relies


def _names(way: Way) -> object:
    return tuple((one.id, one.name) for one in way)


def _without_parts(column: Field) -> object:
    type = None if children_of(column.type) else column.type
    return type, column.required, column.comment, column.initial_default, column.write_default


def _given(value: Any) -> Argument:
    return None if value is None else repr(value)


def _place(position: Position | None) -> Argument:
    return None if position is None else (position.side.value, position.other)


def _text(path: Path) -> str:
    return path if isinstance(path, str) else ".".join(path)


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts)
