"""Which commits made rows what they are: for each cell the last one that changed it.

A row is followed back through the files that it was in: only commits that name the file are looked at. A commit that
moved the row without changing a cell, such as a compaction, is passed over. What a merge brought is followed on the
branch that it came from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakebed.catalog.data.engine import Where
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import target_of
from lakebed.catalog.feed.backward import Past, Place, Touch, past_of
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.objects.naming import about
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.conflicts import literal_text, value_text
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.errors import NotFound
from lakebed.html import table_html
from lakebed.lake.arguments import check_not_staged
from lakebed.lake.diff.rows import row_subject
from lakebed.lake.engines import arrow_engine
from lakebed.lake.rows.reads import scan
from lakebed.lake.shown import Listing
from lakebed.table.schema.metadata_columns import FILE, POSITION, ROW_ID
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow

_STAGED = "Commit it, and ask the table."
_PLACE = (FILE.name, POSITION.name, ROW_ID.name)
_CELL_COLUMNS = ("row_id", "key", "column", "value", "commit", "version", "time", "author", "message")


@dataclass(frozen=True, slots=True)
class RowBlame:
    """A row, and the commits that made it so: `commit` changed it last, `cells` has the last one for each column."""

    key: Mapping[str, Any]
    row_id: int
    values: Mapping[str, Any]
    commit: Commit
    cells: Mapping[str, Commit]

    def __str__(self) -> str:
        """The row, and a line for each cell."""
        texts = {name: value_text(value) for name, value in self.values.items()}
        names, values = (max(map(len, one), default=0) for one in (texts.keys(), texts.values()))
        lines = [f"  {name:{names}}  {texts[name]:{values}}  {commit}" for name, commit in self.cells.items()]
        return "\n".join([row_subject(self.key, self.row_id), *lines])

    def _repr_html_(self) -> str:
        rows = [(name, value_text(self.values[name]), *_commit_row(commit)) for name, commit in self.cells.items()]
        columns = ("column", "value", "version", "time", "author", "message")
        return table_html(row_subject(self.key, self.row_id), columns, rows)

    def to_arrow(self) -> "pyarrow.Table":
        """A row for each cell, as `Blame.to_arrow` has it."""
        return Blame([self]).to_arrow()


class Blame(Listing[RowBlame]):
    """Rows with the commits that made them what they are."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no rows"

    def _repr_html_(self) -> str:
        return "".join(row._repr_html_() for row in self[:10]) or "<div>no rows</div>"

    def to_arrow(self) -> "pyarrow.Table":
        """A row for each cell: `row_id`, `key`, `column` and `value` as text, and of the commit its id as `commit`,
        `version`, `time`, `author`, `message`.
        """
        cells = [cell for row in self for cell in _cell_rows(row)]
        return arrow_engine().table_of_rows(_CELLS, cells)


_CELLS = Schema(
    {
        name: {"row_id": "long", "version": "decimal(29, 0)", "time": "timestamptz"}.get(name, "string")
        for name in _CELL_COLUMNS
    }
)


def _cell_rows(row: RowBlame) -> Iterable[tuple[Any, ...]]:
    key = ", ".join(f"{name} = {_plain_text(value)}" for name, value in row.key.items()) or None
    for name, commit in row.cells.items():
        text = None if row.values[name] is None else _plain_text(row.values[name])
        origin = (commit.id, int(commit.version), commit.time, commit.author, commit.message)
        yield (row.row_id, key, name, text, *origin)


def _plain_text(value: object) -> str:
    """A value as a column of texts has it: texts without quotes, and whole."""
    return value if isinstance(value, str) else literal_text(value)


def _commit_row(commit: Commit) -> tuple[Any, ...]:
    return commit.version, f"{commit.time:%Y-%m-%d %H:%M:%S}", commit.author, commit.message


def blame_key(scope: Scope, table: str, key: Sequence[Any]) -> RowBlame:
    """The blame of the row with a primary key; `NotFound` if there is none."""
    check_not_staged(table, "blame()", _STAGED)
    past = past_of(scope, table)
    with about(past.end.work, table):
        found = arrow_engine().find(target_of(past.end.work, past.state), key)
        if found is None:
            raise NotFound(
                "there is no row with this key",
                subject=", ".join(
                    f"{name} = {value_text(value)}" for name, value in zip(past.state.schema.key, key, strict=True)
                ),
                found=f"none in {spelled(name_of(past.end.work, table))} at version {past.end.version}",
                advice="For a row that was deleted, ask an earlier version: table.at(…).blame(…).",
            )
        [row] = _blamed(past, [found])
        return row


def blame_rows(scope: Scope, table: str, where: Where, limit: int | None) -> Blame:
    """The blame of the rows that pass."""
    check_not_staged(table, "blame()", _STAGED)
    past = past_of(scope, table)
    columns = [*past.state.schema.names, *_PLACE]
    rows = scan(past.end.scope, table, where, columns, limit).to_arrow()
    return Blame(_blamed(past, [row for batch in rows.to_batches() for row in arrow_engine().python_rows(batch)]))


@dataclass(slots=True)
class _Followed:
    """A row on its way back: where it is, which cells are still to be explained, and which commits explain others."""

    number: int
    row_id: int
    place: Place
    pending: set[str]
    cells: dict[str, Commit] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)


def _blamed(past: Past, found: Sequence[Mapping[str, Any]]) -> list[RowBlame]:
    names = past.state.schema.names
    rows = [
        _Followed(number, row[ROW_ID.name], (row[FILE.name], row[POSITION.name]), set(names))
        for number, row in enumerate(found)
    ]
    _Walk(past, _Values(past, rows)).back(rows)
    return [_row_blame(past.state.schema, row, found[row.number]) for row in rows]


def _row_blame(schema: Schema, row: _Followed, values: Mapping[str, Any]) -> RowBlame:
    own = {name: values[name] for name in schema.names}
    key = {schema.path_of(id): _inside(own, schema, id) for id in schema.identifier_ids}
    last = max(row.commits, key=lambda commit: commit.version)
    return RowBlame(key, row.row_id, own, last, {name: row.cells[name] for name in schema.names})


def _inside(values: Any, schema: Schema, id: int) -> Any:
    for part in schema.way_by_id(id):
        values = values[part.name] if isinstance(values, Mapping) else None
    return values


class _Values:
    """The values that the rows have now, with which those of the past are compared."""

    def __init__(self, past: Past, rows: Sequence[_Followed]) -> None:
        context = past.end.work.context
        self._sources = Sources(context.files, str(past.state.id), context.metastore)
        self._schema = past.state.schema
        pieces = past.pieces_at(row.place for row in rows)
        self._now = arrow_engine().rows_with_ids(self._sources, pieces, self._schema, [row.row_id for row in rows])

    def compare(self, pieces: Sequence[Piece], rows: Sequence[_Followed]) -> dict[int, tuple[Place, frozenset[str]]]:
        """Of the rows that pieces have: where each is, and the columns in which it is not as now; by row id."""
        wanted = [row.row_id for row in rows]
        then = arrow_engine().rows_with_ids(self._sources, pieces, self._schema, wanted)
        return then.differing(self._now)


@dataclass(frozen=True, slots=True)
class _Walk:
    past: Past
    values: _Values

    def back(self, rows: Sequence[_Followed]) -> None:
        """Explain all pending cells of rows by the commits of this line."""
        for touch in self.past.touches():
            active = [row for row in rows if row.pending]
            if not active:
                return
            here = [row for row in active if row.place[0] in touch.files]
            if here:
                self._explain(touch, here)

    def _explain(self, touch: Touch, rows: Sequence[_Followed]) -> None:
        before = self.past.before(touch)
        moved = [row for row in rows if not self.past.has(before, row.place)]
        found = self.values.compare(self.past.removed(touch, before), moved) if moved else {}
        changed: list[tuple[_Followed, set[str]]] = []
        for row in moved:
            place, differing = found.get(row.row_id, (None, row.pending))
            if row.pending & differing or place is None:
                changed.append((row, row.pending & differing))
        if changed:
            self._blame(touch, changed, {row.row_id for row in moved} - set(found))
        for row in moved:
            if row.row_id in found:
                row.place = found[row.row_id][0]

    def _blame(self, touch: Touch, changed: Sequence[tuple[_Followed, set[str]]], inserted: set[int]) -> None:
        """Blame a commit for cells, or what it brought them from."""
        commit = self.past.commit(touch.version)
        for row, columns in self._not_brought(touch, commit, changed):
            added = {name: self._added(name, touch) for name in columns} if row.row_id in inserted else {}
            row.cells |= {name: added.get(name) or commit for name in columns}
            row.pending -= columns
            is_own = any(added.get(name) is None for name in columns)
            if is_own or not row.commits:  # adding a column changes no row
                row.commits.append(commit)

    def _added(self, name: str, touch: Touch) -> Commit | None:
        """The commit that added a column, if the table did not have it when a row was inserted."""
        field_id = self._id(name)
        return None if self.past.had(field_id, touch) else self.past.commit_that_added(field_id, touch.version)

    def _id(self, name: str) -> int:
        return self.past.state.schema.field(name).id

    def _not_brought(
        self, touch: Touch, commit: Commit, changed: Sequence[tuple[_Followed, set[str]]]
    ) -> list[tuple[_Followed, set[str]]]:
        """The cells that a commit set itself; those that it brought from another state are explained there."""
        source = self.past.source_of(commit)
        if source is None:
            return list(changed)
        pieces = source.brought_to(self.past, touch.version)
        found = self.values.compare(pieces, [row for row, _ in changed])
        inner: list[_Followed] = []
        for row, columns in changed:
            if row.row_id in found:
                place, differing = found[row.row_id]
                brought = {name for name in columns - differing if source.has_column(self._id(name))}
                if brought:
                    inner.append(_Followed(row.number, row.row_id, place, brought, row.cells, row.commits))
        _Walk(source, self.values).back(inner)
        explained = {row.row_id: row for row in inner}
        left = []
        for row, columns in changed:
            done = columns & set(row.cells) if row.row_id in explained else set()
            row.pending -= done
            if columns - done or row.row_id not in explained:
                left.append((row, columns - done))
        return left
