"""Rows of a database as rows of a table: all of them, or those behind the ones that came before.

(the table's property) "database", [where it is, what is read]
    -> {"source": text, "column": name, "since": mark, "tied": digest}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from lakebed.catalog.data.engine import Fill
from lakebed.catalog.data.imports import imported_position, remember_position
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.names import shown_name
from lakebed.catalog.transaction.scopes import Open
from lakebed.databases.address import Address
from lakebed.databases.relation import Behind, Column, Mark, Relation, Rows
from lakebed.errors import Corrupt, Invalid
from lakebed.lake.engines import adbc_rows, jdbc_rows
from lakebed.lake.imports.answer import Import, ImportedColumn, Misfit
from lakebed.lake.imports.batches import answered_before
from lakebed.lake.imports.into import Into, added_columns, imported_columns, in_one_commit
from lakebed.lake.rows.appends import append, append_new_keys
from lakebed.lake.rows.casting import casting
from lakebed.lake.rows.reads import row_count
from lakebed.lake.rows.writes import overwriting, upserting
from lakebed.lake.sql.names import Line
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "database"


@dataclass(frozen=True, slots=True)
class DatabaseImport:
    """What is to be read of a database, and how; `types` are those of columns that are not the database's own."""

    address: Address
    relation: Relation
    into: Into
    types: Mapping[str, str]
    leave_out: tuple[str, ...]
    partition_by: tuple[str, ...]
    replace: bool
    spark: "SparkSession | None" = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def source(self) -> str:
        return f"{self.address.shown} {self.relation.text}"

    @property
    def place(self) -> list[str]:
        """What tells it from other imports into the table."""
        return [self.address.shown, self.relation.text]

    def rows(self, behind: Behind | None) -> Rows:
        """The rows, from a database that is opened for it."""
        if self.spark is not None:
            return jdbc_rows(self.spark, self.address, self.relation, behind, self.options)
        return adbc_rows(self.address, self.relation, behind)


def imported_rows(line: Line, asked: DatabaseImport, request: Request, dry_run: bool) -> Import:
    """Import what is new, by one commit."""
    known = None if dry_run else line._scope.replayed(request)
    if known is not None:
        return answered_before(line, KIND, asked.source, asked.into.parts, known)
    return in_one_commit(line._scope, request, dry_run, lambda scope: _Import(asked, scope, dry_run).make())


class _Import:
    """One import in one transaction."""

    def __init__(self, asked: DatabaseImport, scope: Open, dry_run: bool) -> None:
        self._asked, self._scope, self._work, self._dry_run = asked, scope, scope.read(), dry_run
        found = asked.into.find(self._work)
        self._created, self._table = found is None, found or ""
        self._before = None if found is None else imported_position(self._work, found, KIND, asked.place)
        self._misfits = list[Misfit]()

    def make(self) -> Import:
        """What it did, or why it can't."""
        if not self._created:
            self._asked.into.check_same(self._work, self._table)
        self._check_again()
        with closing(self._asked.rows(self._behind())) as rows:
            return self._make(rows)

    def _make(self, rows: Rows) -> Import:
        self._columns = self._chosen(rows.columns())
        if self._misfits:
            return self._answer(None, None)
        fields = tuple(column.field for column in self._columns if column.field is not None)
        if self._created:
            self._create(fields)
        else:
            self._misfits += added_columns(self._scope, self._table, fields, self._asked.into.evolve)
        if self._misfits:
            return self._answer(None, None)
        counted = rows.count()
        self._check_marks(rows)
        if not counted and not self._created and not self._asked.replace:
            return self._answer(0, 0)
        mark = rows.mark() if self._asked.relation.since is not None else None
        tied = rows.tied(mark) if mark is not None and self._comes_again else None
        if tied is not None and self._came(mark, tied):
            return self._answer(0, 0)
        gained = None if self._dry_run else self._write(rows, counted)
        self._remember(mark, tied)
        return self._answer(counted, gained)

    def _check_again(self) -> None:
        """Refuse a call that would bring rows twice, or by another column than the call before."""
        if self._before is None or self._asked.replace:
            return
        column, since = self._before.get("column"), self._asked.relation.since
        if since is None:
            raise Invalid(
                "these rows were imported before, and nothing tells which are new",
                subject=self._asked.source,
                advice="Pass since= with a column that grows, or replace=True to replace all rows of the table.",
            )
        if column not in (None, since):
            raise Invalid(
                "new rows were found by another column before",
                subject=self._asked.source,
                expected=f"since={column!r}",
                found=f"since={since!r}",
                advice="Pass replace=True to begin again.",
            )

    def _behind(self) -> Behind | None:
        mark: Mark | None = None if self._before is None or self._asked.replace else self._before.get("since")
        return None if mark is None else Behind(mark, self._comes_again)

    @property
    def _comes_again(self) -> bool:
        """Whether several rows may have one mark: those with the last one come again, and are found by their key."""
        since = self._asked.relation.since or ""
        return self._has_key and [folded_column(name) for name in self._key] != [folded_column(since)]

    @property
    def _has_key(self) -> bool:
        return bool(self._key)

    @property
    def _key(self) -> Sequence[str]:
        key = () if self._created else table_state(self._work, self._table).schema.key
        return key or self._asked.into.primary_key

    def _chosen(self, columns: Sequence[Column]) -> list[Column]:
        """The columns that come, of the types that were asked for; misfits for those that can't."""
        left_out = {folded_column(name) for name in self._asked.leave_out}
        types = {folded_column(name): type for name, type in self._asked.types.items()}
        known = {folded_column(column.name) for column in columns}
        for name in (*self._asked.types, *self._asked.leave_out):
            if folded_column(name) not in known:
                self._misfits.append(Misfit(name, "the database has no such column"))
        since = self._asked.relation.since
        if since is not None and since not in [column.name for column in columns]:
            self._misfits.append(Misfit(since, "the database has no such column to tell new rows by"))
        chosen = list[Column]()
        for column in columns:
            name = folded_column(column.name)
            if name in left_out:
                continue
            if column.field is None:
                self._misfits.append(Misfit(column.name, f"{column.type}: {column.problem}"))
            elif name in types:
                chosen.append(replace(column, field=Field(column.name, types[name]), note=""))  # type: ignore[arg-type]
            else:
                chosen.append(column)
        return chosen

    def _create(self, fields: tuple[Field, ...]) -> None:
        try:
            for each in fields:
                check_free_name(each.name)
            columns = Schema(fields)
        except Invalid as error:
            self._misfits.append(Misfit(error.subject, error.problem))
            return
        self._table = self._asked.into.create(self._scope, columns, self._asked.partition_by, keeps_ids=False)

    def _check_marks(self, rows: Rows) -> None:
        """Without a key a row comes once: one that has no mark would never come again, or always."""
        if self._asked.relation.since is None or self._has_key:
            return
        unmarked = rows.unmarked()
        if unmarked:
            problem = f"{unmarked:,} rows have no value in it: without a primary key nothing tells whether they are new"
            self._misfits.append(Misfit(self._asked.relation.since, problem))

    def _write(self, rows: Rows, counted: int) -> int | None:
        """Write the rows; by how many the table has grown."""
        if self._misfits:
            return None
        before = 0 if self._created else row_count(self._work, self._table)
        read = _Counted(rows.data([column.name for column in self._columns]))
        write, is_all = self._how()
        casting(write)(self._scope, self._table, read.data, Request(f"import_{KIND}", summary=self._summary))
        gained = row_count(self._work, self._table) - before
        came = {counted} if is_all else set()
        if read.count not in (None, counted) or (is_all and gained + (before if self._is_replaced else 0) not in came):
            raise Corrupt(
                "the table did not get the rows of the database",
                subject=self._asked.source,
                expected=f"{counted:,} rows",
                found=f"{gained if read.count in (None, counted) else read.count:,} rows",
            )
        return gained

    def _how(self) -> tuple[Callable[..., Any], bool]:
        """How the rows are written, and whether all of them are new to the table."""
        if self._is_replaced:
            return overwriting(None), True
        if self._has_key:
            return (append_new_keys, True) if self._created else (upserting((), Fill.KEEP), False)
        return append, True

    @property
    def _is_replaced(self) -> bool:
        return self._asked.replace and not self._created

    @property
    def _summary(self) -> dict[str, str]:
        return {"import.kind": KIND, "import.source": self._asked.source[:1000]}

    def _came(self, mark: Mark | None, tied: str) -> bool:
        """Whether there are only rows that came before, and as they were."""
        before = {} if self._before is None or self._asked.replace else self._before
        return (before.get("since"), before.get("tied")) == (mark, tied)

    def _remember(self, mark: Mark | None, tied: str | None) -> None:
        since = self._asked.relation.since
        if mark is None and self._before is not None and not self._asked.replace:
            mark = self._before.get("since")
        position = {"source": self._asked.source[:1000], "column": since, "since": mark}
        if tied is not None:
            position["tied"] = tied
        remember_position(self._work, self._table, KIND, self._asked.place, position)

    def _answer(self, source_rows: int | None, gained: int | None) -> Import:
        types = {column.name: column.type for column in getattr(self, "_columns", ())}
        columns: tuple[ImportedColumn, ...] = ()
        if self._table:
            columns = imported_columns(types, table_state(self._work, self._table))
        return Import(
            KIND,
            self._asked.source,
            shown_name(self._asked.into.parts),
            created=self._created and bool(self._table),
            source_rows=source_rows,
            rows=gained,
            columns=columns,
            misfits=tuple(self._misfits),
            notes=tuple(column.note for column in getattr(self, "_columns", ()) if column.note),
        )


class _Counted:
    """Rows that are counted while they are read, if Arrow's; Spark's are counted by Spark."""

    def __init__(self, data: Any) -> None:
        self.count: int | None = None
        self.data = data
        if hasattr(data, "read_next_batch"):
            self.count = 0
            self.data = type(data).from_batches(data.schema, self._batches(data))

    def _batches(self, batches: Any) -> Iterator[Any]:
        for batch in batches:
            self.count = (self.count or 0) + batch.num_rows
            yield batch
