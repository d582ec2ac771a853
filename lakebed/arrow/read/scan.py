"""A scan: rows of one snapshot, asked for by filter, columns and limit."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow

from lakebed.arrow.read.ahead import THREADS
from lakebed.arrow.read.dataset import dataset_of
from lakebed.arrow.read.frames import lazy_frame, relation
from lakebed.arrow.read.plain_files import check_plain
from lakebed.arrow.read.read import read, read_inline
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.data.deletion_vectors import live_rows
from lakebed.catalog.data.row_sources import Sources
from lakebed.errors import Invalid
from lakebed.html import ROWS, Text, pre_html, table_html
from lakebed.table.filter.filter import ALWAYS, Filter, Predicate, all_of, fields_of, predicates_of
from lakebed.table.manifest.inline import inline_id, is_inline
from lakebed.table.plan.plan import Cut, Plan, PlannedFile, plan_counts, plan_text
from lakebed.table.plan.pruning import may_match, row_group_matches
from lakebed.table.plan.splits import TARGET_BYTES, Split, splits, tasks
from lakebed.table.schema.metadata_columns import METADATA_IDS, selected_columns
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    from pyarrow.dataset import Dataset

Replan = Callable[[Filter], Plan]
"""Plans the same snapshot by another filter."""

WINDOW_FILES = 1000
WINDOW_BYTES = 4 << 20  # of inline rows, fetched at once


class Explanation(Text):
    """A scan's plan as text."""

    counts: dict[str, object]
    """Files and row groups that are read, of how many, and what each step cut."""


class Scan:
    """The rows of planned files that pass a filter, in the order of the files; each method reads them again.

    Rows are tested by a file's `residual`, or by the filter if it has none. `columns` may also name those of
    `schema.metadata_columns`. Anything that is not as it was written is `Corrupt`, with the file's path, before a wrong
    row is returned. `pruned_plan` makes a plan for callers that have only files; `replan` plans by narrower filters;
    `again` makes the same scan in another process.
    """

    def __init__(
        self,
        sources: Sources,
        schema: Schema,
        plan: Plan,
        filter: Filter | None = None,
        columns: Iterable[str] | None = None,
        limit: int | None = None,
        replan: Replan | None = None,
        again: "Callable[[], Scan] | None" = None,
    ) -> None:
        self.schema = schema if columns is None else selected_columns(schema, columns)
        self._are_all_columns = columns is None
        self._sources = sources
        self._filter = filter
        self.limit = _checked_limit(limit)
        self._plan = plan
        self._replan = replan
        self._again = again

    def to_arrow(self) -> pyarrow.Table:
        """All rows in memory, with the schema's columns even if there are none."""
        return pyarrow.Table.from_batches(self._batches(), arrow_schema(self.schema))

    def to_batches(self) -> pyarrow.RecordBatchReader:
        """The rows, one batch at a time: they need not fit in memory together."""
        return pyarrow.RecordBatchReader.from_batches(arrow_schema(self.schema), self._batches())

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a pandas DataFrame; pandas has to be installed."""
        return self.to_arrow().to_pandas()

    def to_dataset(self) -> "Dataset":
        """The rows as a `pyarrow.dataset.Dataset`; columns and filters of DuckDB, polars and others are pushed down.

        Every read of it shows the same rows. `duckdb.sql("select … from dataset")` finds it by its variable's name.
        """
        return dataset_of(self)

    def to_polars(self) -> "polars.LazyFrame":
        """The rows as a lazy frame of polars, which has to be installed; its columns and filters are pushed down."""
        return lazy_frame(self)

    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection | None" = None, name: str | None = None
    ) -> "duckdb.DuckDBPyRelation":
        """The rows as a relation of DuckDB, which has to be installed; its columns and filters are pushed down.

        Without a connection it is DuckDB's default one. With a name, SQL on the connection can use it.
        """
        return relation(self, connection, name)

    def count(self) -> int:
        """How many rows there are; a file is opened only if its rows have to be tested.

        Without a filter the files of a checkpoint are counted by their columns: a million of them take 6 to 30 ms.
        """
        count_all = self._plan.live_rows if self._filter is None else None
        rows = self._count_by_file() if count_all is None else count_all()
        return rows if self.limit is None else min(rows, self.limit)

    def files(self) -> list[str]:
        """The locations of the files that a read opens, for other engines; with a filter and a limit, at most these.

        `Invalid` if another engine would see other rows or columns in them: inline or deleted rows, columns that were
        renamed, dropped, added or widened after a file was written, the row ids that compaction keeps. If the scan
        names its columns, only these have to be alike. Every file's footer is read.
        """
        opened = [planned.file for planned in self._opened()]
        check_plain(self._sources, opened, self.schema, self._are_all_columns)
        return [self._sources.files.location(file.path) for file in opened]

    def splits(self, target_bytes: int = TARGET_BYTES) -> list[Split]:
        """The scan as tasks of about `target_bytes` of files each; `of` reads one.

        The same snapshot and filter always give the same splits. `Invalid` with a limit, which holds for all rows
        together.
        """
        if self.limit is not None:
            raise Invalid("a scan with a limit has no splits", found=f"limit {self.limit}")
        return splits(self._plan.files, target_bytes)

    def tasks(self) -> list[Split]:
        """The scan as splits for the threads of this process: they read about as much each, and only its columns."""
        tested = () if self._filter is None else fields_of(self._filter)
        return tasks(self._plan.files, {*self.schema.ways, *(field.id for field in tested)}, THREADS)

    def of(self, split: Split) -> "Scan":
        """The rows of one of its splits. All splits, one after the other, give the scan's rows in its order."""
        plan = Plan(split.files, len(split.files), filter=self._filter)
        again = None if self._again is None else partial(_of, self, split)
        return Scan(self._sources, self.schema, plan, self._filter, limit=self.limit, again=again)

    def narrowed(
        self, filter: Filter = ALWAYS, columns: Iterable[str] | None = None, predicate: Predicate | None = None
    ) -> "Scan":
        """The scan of some of its columns, and of the rows that pass the predicate.

        `filter` keeps all of these: files and row groups are pruned by it. `Invalid` with a limit, which comes first.
        """
        shown = self.schema if columns is None else self.schema.select(columns)
        if self.limit is not None and (filter != ALWAYS or predicate is not None):
            raise Invalid("a scan with a limit can't be narrowed", found=f"limit {self.limit}")
        tests = [test for test in (self._filter, predicate) if test is not None]
        tested = all_of(tests) if tests else None
        plan = self._plan if filter == ALWAYS else self._pruned(filter)
        if self._filter is not None or filter != ALWAYS:
            plan = _tested(plan, self._filter is None, predicate)
        return Scan(self._sources, shown, plan, tested, limit=self.limit, replan=self._replan)

    def _pruned(self, filter: Filter) -> Plan:
        """The plan for fewer rows."""
        if self._replan is None:
            return pruned_plan(self._plan.files, filter)
        return self._replan(filter if self._filter is None else all_of([self._filter, filter]))

    def explain(self) -> "Explanation":
        """How the files were chosen: what each step cut, and why not more; `.counts` has the numbers by name."""
        explanation = Explanation(plan_text(self._plan))
        explanation.counts = plan_counts(self._plan)
        return explanation

    def __repr__(self) -> str:
        """Its columns, and what it reads; no file is opened."""
        filtered = "" if self._filter is None else ", filtered"
        return f"Scan of {', '.join(self.schema.names)}{filtered}: {plan_text(self._plan).splitlines()[0]}"

    def _repr_html_(self) -> str:
        try:
            return self._html(repr(self))
        except Exception as error:  # a purged table, a closed lake: a notebook shows what a scan was
            return pre_html(f"{self!r}\n{error}")

    def __reduce__(self) -> "tuple[Callable[[], Scan], tuple[()]]":
        """How to plan it again in another process: it shows the same rows."""
        if self._again is None:
            problem = "a scan of a transaction, or one that was narrowed, can't be pickled"
            raise Invalid(problem, advice="Pickle the table, and scan it in the other process.")
        return self._again, ()

    def _html(self, title: str) -> str:
        """The first rows, for a notebook."""
        limit = ROWS if self.limit is None else min(self.limit, ROWS)
        rows = Scan(self._sources, self.schema, self._plan, self._filter, limit=limit).to_arrow()
        cells = zip(*([_cell(value) for value in column] for column in rows.columns), strict=True)
        return table_html(title, rows.schema.names, cells)

    def __arrow_c_schema__(self) -> object:
        """The columns for all that read Arrow's C data."""
        return arrow_schema(self.schema).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for all that read Arrow's C stream: pyarrow, polars, DuckDB, `append` of another table."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        left = self.limit
        for batch in self._read(self._opened(), self.schema):
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def _opened(self) -> Iterator[PlannedFile]:
        """The files to open until the limit is certain to be reached."""
        left = self.limit
        if left == 0:
            return
        for planned in self._plan.files:
            yield planned
            if left is not None:
                left -= self._known_rows(planned) or 0
                if left <= 0:
                    return

    def _count_by_file(self) -> int:
        """How many rows there are; with a limit, any number at or above it will do."""
        known = [(planned, self._known_rows(planned)) for planned in self._opened()]
        rows = sum(count or 0 for _, count in known)
        tested = [planned for planned, count in known if count is None]
        for batch in self._read(tested, Schema([])):
            if self.limit is not None and rows >= self.limit:
                break
            rows += batch.num_rows
        return rows

    def _known_rows(self, planned: PlannedFile) -> int | None:
        """How many rows a file gives, None if it has to be read to know."""
        if planned.row_groups is not None or self._test(planned) is not None:
            return None
        return live_rows(self._sources.files, planned.file)

    def _test(self, planned: PlannedFile) -> Filter | None:
        filter = self._filter if planned.residual is None else planned.residual
        # Without columns and predicates it keeps every row or none: pruning has applied it.
        return filter if filter is not None and (fields_of(filter) or predicates_of(filter)) else None

    def _read(self, files: Iterable[PlannedFile], schema: Schema) -> Iterator[pyarrow.RecordBatch]:
        """The rows of files that pass, with only the columns of the schema."""
        for sources, run in _located(self._sources, files):
            yield from _rows(sources, run, schema, self._test(run[0]))


def _of(scan: Scan, split: Split) -> Scan:
    return scan.of(split)


def pruned_plan(files: Sequence[PlannedFile], filter: Filter | None = None) -> Plan:
    """A plan of files that no catalog has planned: they are pruned by their statistics."""
    left = tuple(files)
    if filter is not None:
        left = tuple(_in_row_groups(planned, filter) for planned in files if may_match(filter, planned.file))
    groups = sum(max(1, len(planned.file.blocks)) for planned in files)
    left_groups = sum(planned.num_row_groups for planned in left)
    return Plan(left, len(files), {"statistics": Cut(len(files) - len(left), groups - left_groups)})


def _tested(plan: Plan, is_pruned_only: bool, predicate: Predicate | None) -> Plan:
    """The plan, whose rows are also tested by a predicate; by nothing else if its own filter was only to prune by."""
    more = () if predicate is None else (predicate,)

    def test(residual: Filter | None) -> Filter | None:
        if is_pruned_only:
            return all_of(more)
        return None if residual is None else all_of((residual, *more))

    files = tuple(replace(planned, residual=test(planned.residual)) for planned in plan.files)
    return replace(plan, files=files)


def _rows(
    sources: Sources, run: Sequence[PlannedFile], schema: Schema, filter: Filter | None
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a file, or of inline entries: together, unless metadata columns differ by entry."""
    if len(run) > 1 and not any(field.id in METADATA_IDS for field in schema.fields):
        yield from read_inline(sources, [planned.file for planned in run], schema, filter)
    else:
        for planned in run:
            yield from read(sources, planned, schema, filter)


def _in_row_groups(planned: PlannedFile, filter: Filter) -> PlannedFile:
    return (
        planned
        if planned.row_groups is not None
        else replace(planned, row_groups=row_group_matches(filter, planned.file))
    )


def _located(sources: Sources, files: Iterable[PlannedFile]) -> Iterator[tuple[Sources, list[PlannedFile]]]:
    """Each file with where its rows are; inline rows are fetched, and returned, as many at once as fit in memory."""
    waiting: list[PlannedFile] = []
    size = 0
    for planned in files:
        waiting.append(planned)
        size += planned.file.file_size if is_inline(planned.file) else 0
        if size >= WINDOW_BYTES or len(waiting) == WINDOW_FILES:
            yield from _fetched(sources, waiting)
            waiting, size = [], 0
    yield from _fetched(sources, waiting)


def _fetched(sources: Sources, files: Sequence[PlannedFile]) -> Iterator[tuple[Sources, list[PlannedFile]]]:
    inline = [planned.file for planned in files if is_inline(planned.file)]
    if inline:
        bodies = dict(zip(map(inline_id, inline), sources.inline_rows(inline), strict=True))
        sources = replace(sources, pending=bodies)
    for (together, _), run in groupby(files, _kind):
        for batch in [list(run)] if together else ([planned] for planned in run):
            yield sources, batch


def _kind(planned: PlannedFile) -> tuple[bool, Filter | None]:
    """Whether a file is inline, and how its rows are tested: inline files of one kind are read together."""
    return is_inline(planned.file) and planned.row_groups is None, planned.residual


def _checked_limit(limit: int | None) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return min(limit, sys.maxsize)
    raise Invalid("the limit is not a number of rows", expected="0 or more, or None", found=repr(limit))


def _cell(value: pyarrow.Scalar) -> object:
    """A value as a notebook shows it."""
    try:
        return value.as_py()
    except ValueError:  # nanoseconds, if pandas is not installed
        return str(value)
