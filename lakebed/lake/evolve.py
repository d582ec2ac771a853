"""The handle of a table's evolution."""

from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from lakebed.catalog.data.same_columns import column_of_another_line
from lakebed.catalog.data.target import target_of
from lakebed.catalog.objects.properties import is_text
from lakebed.catalog.tables import evolution
from lakebed.catalog.tables.evolution import Evolution, Step
from lakebed.catalog.tables.properties import table_properties
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.bound import asked_id
from lakebed.catalog.transaction.commits import Argument, Commit, Request, check_event_id
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.arguments import as_path, as_paths, as_texts, as_type, check_flag
from lakebed.lake.engines import arrow_engine
from lakebed.lake.shown import object_text
from lakebed.table.schema.evolution import FIRST, Position, after, before
from lakebed.table.schema.schema import Path
from lakebed.table.types.types import Type


class Evolve:
    """Changes of a table's columns, partition spec, sort order and key: one commit at the end of the `with`.

    Each is checked when it is called, on top of those before it; one that is illegal is `Invalid`, and an exception
    ends it all without a trace. If somebody else changes the table meanwhile, the changes are made on top of theirs;
    those that are about the very same thing are a `Conflict`. No change rewrites a file.

    A column is named by a path: dotted text or a tuple of names, with `element` and `value` inside lists and maps.
    """

    __slots__ = ("_author", "_committed", "_event_id", "_is_used", "_message", "_open", "_scope", "_seen", "_table")

    def __init__(
        self, table: str, scope: Scope, message: str | None, author: str | None, event_id: str | UUID | None
    ) -> None:
        self._table = table
        self._scope = scope
        self._message = message
        self._author = author
        self._event_id = event_id
        self._is_used = False
        self._open: Evolution | None = None
        self._seen: Work
        self._committed: Commit | None = None

    def __repr__(self) -> str:
        return object_text("Evolve", self._scope, self._table, lambda _: [])

    @property
    def committed(self) -> Commit | None:
        """The commit, once there is one; None inside a transaction, whose commit it is."""
        return self._committed

    def add_column(
        self,
        path: Path,
        type: Type | str,
        *,
        default: Any = None,
        required: bool = False,
        comment: str = "",
        first: bool = False,
        before: Path | None = None,
        after: Path | None = None,
    ) -> None:
        """Add a column, last in its struct unless a place is given; a required one needs a default.

        Existing rows show the default, or null, and so do new rows that come without the column.
        """
        position = _position(first, before, after)
        self._add(
            evolution.add_column(
                as_path(path),
                as_type(f"{path}", type),
                required=check_flag("required", required),
                default=default,
                comment=_comment(comment),
                position=position,
            )
        )

    def drop_column(self, path: Path) -> None:
        """Drop a column. No later column, whatever its name, shows its data; earlier versions still do."""
        self._add(evolution.drop_column(as_path(path)))

    def rename_column(self, path: Path, new_name: str) -> None:
        """Give a column another name, which is the last part of its path."""
        self._add(evolution.rename_column(as_path(path), _own_name(path, new_name)))

    def move_column(
        self, path: Path, *, first: bool = False, before: Path | None = None, after: Path | None = None
    ) -> None:
        """Put a column first in its struct, or before or after another one in it."""
        position = _position(first, before, after)
        if position is None:
            raise Invalid("no place is given", subject=str(path), expected="first=True, before=… or after=…")
        self._add(evolution.move_column(as_path(path), position))

    def widen_column(self, path: Path, type: Type | str) -> None:
        """Give a column a wider type: int to long, float to double, a decimal of more digits."""
        self._add(evolution.widen_column(as_path(path), as_type(f"{path}", type)))

    def make_optional(self, path: Path) -> None:
        """Let a column, a list's element or a map's value be null."""
        self._add(evolution.make_optional(as_path(path)))

    def set_comment(self, path: Path, comment: str) -> None:
        """Set the comment of a column; "" removes it."""
        self._add(evolution.set_comment(as_path(path), _comment(comment)))

    def set_default(self, path: Path, default: Any) -> None:
        """Set what new rows without the column get; existing rows stay as they are."""
        self._add(evolution.set_default(as_path(path), default))

    def primary_key(self, names: Iterable[Path]) -> None:
        """Make these required columns the key that identifies rows; an empty list removes the key.

        `Invalid` at the end of the `with` if two rows of the table have one key: the key columns of all rows are read.
        """
        self._add(evolution.primary_key(as_paths(names, "a primary key")))

    def drop_key_columns(self, names: Iterable[Path]) -> None:
        """Remove columns from the primary key; the others stay in it, and must still tell all rows apart."""
        self._add(evolution.drop_key_columns(as_paths(names, "a primary key")))

    def partition_by(self, terms: Iterable[str]) -> None:
        """Partition new files by these terms (`day(ordered_at)`, `bucket(16, id)`); existing files stay as they are."""
        self._add(evolution.partition_by(as_texts(terms, "a partition spec")))

    def add_partition_field(self, term: str) -> None:
        """Partition new files by one more term, whatever they are partitioned by."""
        self._add(evolution.change_partitions(None, _term(term)))

    def drop_partition_field(self, term: str) -> None:
        """Partition new files without a term, which is given as it is written or by its field's name."""
        self._add(evolution.change_partitions(_term(term), None))

    def replace_partition_field(self, term: str, new_term: str) -> None:
        """Partition new files by another term in place of one, such as a coarser unit of time."""
        self._add(evolution.change_partitions(_term(term), _term(new_term)))

    def sort_by(self, terms: Iterable[str]) -> None:
        """Sort the rows of new files (`day(ordered_at)`, `price desc nulls last`)."""
        self._add(evolution.sort_by(as_texts(terms, "a sort order")))

    def __enter__(self) -> Self:
        if self._is_used:
            raise Invalid("an evolution is used twice", advice="Call evolve() again.")
        self._is_used = True
        self._seen = self._begun()
        state = table_state(self._seen, self._table)
        self._open = Evolution(
            state, self._seen.base, dict(table_properties(self._seen, self._table)), column_of_another_line
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        made, self._open = self._open, None
        if kind is None and made is not None:
            self._committed = self._scope.change(partial(self._make, made), self._request(*made.arguments), self._seen)

    def _make(self, made: Evolution, work: Work) -> None:
        before = table_state(work, self._table).schema.identifier_ids
        made.make(work)
        after = table_state(work, self._table)
        if after.schema.identifier_ids and not (before and set(before) <= set(after.schema.identifier_ids)):
            arrow_engine().check_table(target_of(work, after))

    def _begun(self) -> Work:
        """The state to check the steps on: of an evolution that comes again, the one that it had."""
        context, ref = self._scope.context, self._scope.ref
        known = None if self._event_id is None else context.metastore.find(check_event_id(self._event_id))
        if known is None:
            self._scope.replayed(self._request())
            return self._scope.read()
        # Whether it is the same evolution is known only at the end, from all of its steps.
        self._scope.replayed(Request("evolve", (), self._message, self._author))
        return Work(context, ref, known.base) if known.line == ref.line.id else self._scope.read()

    def _request(self, *steps: Argument) -> Request:
        return Request("evolve", (asked_id(self._table), *steps), self._message, self._author, self._event_id)

    def _add(self, step: Step) -> None:
        if self._open is None:
            problem = "the evolution is over" if self._is_used else "the evolution has not begun"
            raise Invalid(problem, advice="Use it inside its `with`.")
        self._open.add(step)


def _comment(given: object) -> str:
    if not is_text(given):
        raise Invalid("a comment is text", expected="str", found=repr(given))
    return given


def _term(given: str) -> str:
    [term] = as_texts([given], "a partition spec")
    return term


def _own_name(path: Path, new_name: str) -> str:
    """The new name, unless it is a whole path: a column inside another would get a name with a dot."""
    inside = path.rpartition(".")[0] if isinstance(path, str) else ".".join(path[:-1])
    if inside and isinstance(new_name, str) and new_name.lower().startswith(f"{inside.lower()}."):
        own = new_name[len(inside) + 1 :]
        raise Invalid("a new name is the column's own name, without its path", expected=repr(own), found=repr(new_name))
    return new_name


def _position(first: bool, beside_before: Path | None, beside_after: Path | None) -> Position | None:
    given = (
        *((FIRST,) if check_flag("first", first) else ()),
        *((before(as_path(beside_before)),) if beside_before is not None else ()),
        *((after(as_path(beside_after)),) if beside_after is not None else ()),
    )
    if len(given) > 1:
        raise Invalid("a column has one place", expected="one of first, before and after")
    return given[0] if given else None
