"""The rows in which two states of a table differ, as people see them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from lakebed.catalog.data.engine import Where
from lakebed.catalog.feed.compare import AFTER, BEFORE, CHANGE, COLUMNS, DELETED, INSERTED, KEY, ROW, UPDATED, Compared
from lakebed.catalog.transaction.conflicts import value_text
from lakebed.errors import Invalid
from lakebed.html import ROWS, pre_html, table_html
from lakebed.lake.engines import arrow_engine, check_session, spark_engine
from lakebed.lake.rows.reads import only_spark
from lakebed.table.expression.build import SPARK
from lakebed.table.expression.where import bind_where
from lakebed.table.filter.filter import fields_of
from lakebed.table.schema.metadata_columns import METADATA_IDS
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow.rows.differences import ArrowDifferences

SHOWN = 20
"""How many rows are printed."""

_SIGNS = {INSERTED: "+", DELETED: "-", UPDATED: "~"}


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One row that differs: `change` is inserted, deleted or updated.

    `before` and `after` are its values by column, None where the row is not there; `columns` are those that differ in
    an updated row. `key` is its primary key, empty in a table without one. `key` and `row_id` are those of the second
    state; of a deleted row, of the first.
    """

    change: str
    key: Mapping[str, Any]
    row_id: int
    columns: tuple[str, ...]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def __str__(self) -> str:
        """One line: `~ id = 2  price: 4.0 -> 3.0`."""
        values = self.after if self.after is not None else self.before or {}
        if self.before is not None and self.after is not None:
            cells = [
                f"{name}: {value_text(self.before[name])} -> {value_text(self.after[name])}" for name in self.columns
            ]
        else:
            cells = [f"{name}: {value_text(value)}" for name, value in values.items() if name not in self.key]
        return f"{_SIGNS[self.change]} {self.subject}  {', '.join(cells)}".rstrip()

    @property
    def subject(self) -> str:
        """The row, by its key or else its id."""
        return row_subject(self.key, self.row_id)


def row_subject(key: Mapping[str, Any], row_id: int) -> str:
    """A row, by its key or else its id."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in key.items()) or f"row {row_id}"


@dataclass(frozen=True, slots=True)
class RowSummary:
    """How many rows differ, and how many cells of each column in rows that were updated."""

    inserted: int
    deleted: int
    updated: int
    cells: Mapping[str, int]

    def __str__(self) -> str:
        rows = f"{self.inserted:,} inserted, {self.deleted:,} deleted, {self.updated:,} updated"
        cells = ", ".join(f"{name} {count:,}" for name, count in self.cells.items() if count)
        return f"{rows} (cells: {cells})" if cells else rows

    def _repr_html_(self) -> str:
        title = f"{self.inserted:,} inserted, {self.deleted:,} deleted, {self.updated:,} updated"
        cells = [(name, f"{count:,}") for name, count in self.cells.items() if count]
        return table_html(title, ["column", "cells that differ"] if cells else [], cells)


class RowDifferences:
    """The rows in which two states of a table differ; each method reads them again, always the same ones.

    Iterated, it gives `RowDifference` values, and reads no more than it is asked for. As a table its columns are
    `change`, `row_id`, `key` (if the table has one), `columns`, `before` and `after`. The values are shown in the
    columns of the second state, of a dropped table in those that it had.
    """

    def __init__(self, name: str, compared: Compared, where: Where, limit: int | None) -> None:
        self.name = name
        self._compared, self._where, self._limit = compared, where, limit
        self._check_where()

    @property
    def schema(self) -> Schema:
        """The columns that are compared and shown."""
        return self._compared.shown

    def __iter__(self) -> Iterator[RowDifference]:
        for batch in self._local.batches(self._limit, is_gradual=True):
            yield from map(_row, arrow_engine().python_rows(batch))

    def to_arrow(self) -> "pyarrow.Table":
        """All of them in memory."""
        return self.to_batches().read_all()

    def to_batches(self) -> "pyarrow.RecordBatchReader":
        """One batch at a time."""
        return self._local.reader(self._limit)

    def to_pandas(self) -> "pandas.DataFrame":
        """All of them as a pandas DataFrame; pandas has to be installed."""
        return self.to_arrow().to_pandas()

    def read(self, spark: "SparkSession") -> "DataFrame":
        """All of them as a Spark DataFrame: executors read the changed files, and match the rows; in no order."""
        check_session(spark, advice="Without one, to_arrow() reads the rows.")
        rows = spark_engine(spark).differences(self.name, self._compared, self._where)
        return rows if self._limit is None else rows.limit(self._limit)

    def count(self) -> int:
        """How many rows differ, at most the limit; files are read only where rows have to be compared or tested."""
        if self._limit is not None:
            return sum(batch.num_rows for batch in self._local.batches(self._limit))
        return sum(self._local.counts()[0].values())

    def summary(self) -> RowSummary:
        """How many rows were inserted, deleted and updated, and how many cells of each column; the limit is ignored."""
        changes, cells = self._local.counts()
        return RowSummary(changes[INSERTED], changes[DELETED], changes[UPDATED], cells)

    def __repr__(self) -> str:
        """The first rows, one on each line."""
        try:
            rows = list(islice(self, SHOWN + 1))
        except Exception as error:  # a purged table, a closed lake: a debugger shows what it was
            return f"Differences of {self.name}: {error}"
        more = [f"and more than {SHOWN} in all: count() counts them"] if len(rows) > SHOWN else []
        return "\n".join([*map(str, rows[:SHOWN]), *more]) or f"no row of {self.name} differs"

    def _repr_html_(self) -> str:
        """The first rows as a table, in which cells that differ are marked."""
        try:
            rows = list(islice(self, ROWS + 1))
        except Exception as error:
            return pre_html(f"Differences of {self.name}: {error}")
        return rows_html(self.name, self.schema.names, rows[:ROWS], has_more=len(rows) > ROWS)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For all that read Arrow's C stream: pyarrow, polars, DuckDB."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> NoReturn:
        raise Invalid("differences can't be pickled", advice="Pickle to_arrow(), or compare in the other process.")

    @property
    def _local(self) -> "ArrowDifferences":
        with only_spark("read(spark)"):
            filter = None if self._where is None else bind_where(self._where, self._compared.table).filter
        return arrow_engine().differences(self._compared, filter)

    def _check_where(self) -> None:
        """Refuse a condition that can't be read now; one that only Spark evaluates waits for `read`."""
        if self._where is None:
            return
        try:
            bound = bind_where(self._where, self._compared.table).filter
        except Invalid as error:
            if error.advice != SPARK:
                raise
            return
        for tested in fields_of(bound):
            if tested.id in METADATA_IDS:
                raise Invalid(
                    "a row that differs may be in two places, so that this column can't be tested",
                    subject=tested.name,
                    expected=f"one of {', '.join(self._compared.table.names)}",
                    advice="Filter what to_arrow() or read(spark) answers by its row_id.",
                )


def _row(found: Mapping[str, Any]) -> RowDifference:
    return RowDifference(
        found[CHANGE], found.get(KEY) or {}, found[ROW], tuple(found[COLUMNS]), found[BEFORE], found[AFTER]
    )


def rows_html(name: str, columns: tuple[str, ...], rows: list[RowDifference], *, has_more: bool) -> str:
    """Differences as a table: what went is struck through, what came is marked."""
    head = "".join(f"<th>{escape(column)}</th>" for column in ("", "row", *columns))
    body = "".join(_row_html(columns, row) for row in rows)
    below = "<div>and more: count() counts them</div>" if has_more else "" if rows else "<div>no row differs</div>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><b>{escape(name)}</b>{table if rows else ''}{below}</div>"


def _row_html(columns: tuple[str, ...], row: RowDifference) -> str:
    cells = "".join(f"<td>{_cell_html(row, column)}</td>" for column in columns)
    return f"<tr><td>{_SIGNS[row.change]}</td><td>{escape(row.subject)}</td>{cells}</tr>"


def _cell_html(row: RowDifference, column: str) -> str:
    old, new = (None if side is None else escape(value_text(side[column])) for side in (row.before, row.after))
    if old is not None and new is not None and column not in row.columns:
        return new
    gone = "" if old is None else f"<del>{old}</del>"
    came = "" if new is None else f"<ins><b>{new}</b></ins>"
    return f"{gone} {came}".strip()
