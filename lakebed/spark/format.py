"""`spark.read.format("lakebed")` and `df.write.format("lakebed")`: a data source in Python, for people who expect one.

`table.read` is 2 to 24 times as fast: it has Spark's own reader, where this one sends Arrow batches from Python, of all
columns that `columns` names. Spark runs each step in a process of its own: this is the adapter that hands the steps of
whoever has the lake, `Tables`, from one to the next.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime
from inspect import signature
from typing import Any, ClassVar, NoReturn, Protocol, cast

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, InputPartition
from pyspark.sql.datasource import WriterCommitMessage as CommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lakebed.catalog.objects.naming import about_table
from lakebed.errors import Invalid
from lakebed.spark.types import result_schema
from lakebed.table.filter.column import Column, col
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema

_CONDITIONS: dict[str, Callable[[Column, Any], Condition]] = {
    "EqualTo": lambda column, value: column == value,
    "EqualNullSafe": lambda column, value: column.is_null() if value is None else column == value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
    "In": lambda column, value: column.is_in([one for one in value if one is not None]),
    "IsNull": lambda column, _: column.is_null(),
    "IsNotNull": lambda column, _: column.is_not_null(),
    "StringStartsWith": lambda column, value: column.starts_with(value),
}

# A session may push values through Java's old calendar, which has this day for the ten before it, and near the first
# changes of a zone's clock, the last before 1900, other times. `hidden` says which session.
_UNSURE_DAY = date(1582, 10, 15)
_SURE_FROM = datetime(1900, 1, 1, tzinfo=UTC)


def condition_of(filter: Any) -> Condition | None:
    """The condition that a filter means, None if it has none here; for nulls both are true or neither is.

    Filters are told by their class's name: Spark 4.0 has none of the classes.
    """
    kind = type(filter).__name__
    if kind == "Not":
        inner = None if _knows_null(filter.child) else condition_of(filter.child)
        return None if inner is None else ~inner
    make = _CONDITIONS.get(kind)
    value: Any = getattr(filter, "value", None)
    if make is None or any(map(_is_unsure, value if kind == "In" else (value,))):
        return None
    try:
        return make(col(*_quoted(filter.attribute)), value)
    except Invalid:  # a value of a type that no condition has; Spark evaluates the filter itself
        return None


def _knows_null(filter: Any) -> bool:
    """Whether a filter is false where its condition is unknown, or unknown where that is false: with a null in it."""
    kind = type(filter).__name__
    return kind == "EqualNullSafe" or (kind == "In" and None in filter.value)


def _is_unsure(value: Any) -> bool:
    """Whether the query may have had another date or time."""
    if isinstance(value, datetime):
        return value.tzinfo is not None and value < _SURE_FROM
    return isinstance(value, date) and value == _UNSURE_DAY


def _quoted(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as `col` takes them: a single one may have a dot."""
    return names if len(names) > 1 else (f"`{names[0].replace('`', '``')}`",)


NAME = "lakebed"


class Task(Protocol):
    """Rows that one task reads. It is pickled."""

    def batches(self) -> Iterator[pyarrow.RecordBatch]: ...


class Reading(Protocol):
    """A read of one version of a table. It is pickled."""

    @property
    def schema(self) -> Schema: ...

    def takes(self, condition: Condition) -> bool: ...

    def tasks(self, conditions: Iterable[Condition]) -> Sequence[Task]: ...


class Writing(Protocol):
    """A write to a table. It is pickled."""

    def write(self, rows: pyarrow.RecordBatchReader) -> tuple[bytes, ...]: ...

    def commit(self, messages: Sequence[tuple[bytes, ...] | None]) -> None: ...

    def abort(self, messages: Sequence[tuple[bytes, ...] | None]) -> None: ...


class Tables(Protocol):
    """A lake's tables by options. It is pickled."""

    def reading(self, options: Mapping[str, str]) -> Reading: ...

    def writing(self, options: Mapping[str, str], form: pyarrow.Schema, *, overwrite: bool) -> Writing: ...


class LakebedSource(DataSource):
    """The source of a lake's tables. A subclass says which: `source_of` makes one."""

    tables: ClassVar[Tables]
    format: ClassVar[str] = NAME
    _reading: Reading | None = None

    @classmethod
    def name(cls) -> str:
        return cls.format

    def schema(self) -> StructType:
        # Spark keeps this object for the plan of the read, so that the version is that of `load`.
        with _about(self._table):
            self._reading = self.tables.reading(self.options)
            return result_schema(self._reading.schema)

    def reader(self, schema: StructType) -> "LakebedReader":
        with _about(self._table):
            reading = self._reading or self.tables.reading(self.options)
            _check_columns(schema, result_schema(reading.schema))
            return LakebedReader(reading, arrow_form(schema), self._table)

    def writer(self, schema: StructType, overwrite: bool) -> "LakebedWriter":
        with _about(self._table):
            form = arrow_form(schema)
            return LakebedWriter(self.tables.writing(self.options, form, overwrite=overwrite), self._table)

    @property
    def _table(self) -> str:
        return self.options.get("path", "")

    def streamReader(self, schema: StructType) -> NoReturn:
        raise _batch_only()

    def simpleStreamReader(self, schema: StructType) -> NoReturn:
        raise _batch_only()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:
        raise _batch_only()


def source_of(tables: Tables, format: str) -> type[LakebedSource]:
    """The class that a session registers: `spark.dataSource.register(source_of(…))`."""
    return type("Source", (LakebedSource,), {"tables": tables, "format": format})


@dataclass
class TaskPartition(InputPartition):
    """A task, as Spark sends it."""

    task: Task


class LakebedReader(DataSourceReader):
    """Plans a read, and reads the rows of one of its tasks."""

    def __init__(self, reading: Reading, form: pyarrow.Schema, table: str) -> None:
        self._reading = reading
        self._form = form
        self._table = table
        self._conditions: list[Condition] = []

    @property
    def pushFilters(self) -> Any:
        # Spark refuses a reader that has a method for this where a session has `spark.sql.python.filterPushdown` off,
        # which is the default. It asks whether the method's function is the one that readers inherit.
        return _Push(self)

    def push(self, filters: Sequence[Any]) -> Sequence[Any]:
        """Prune by these, as far as they have a meaning here; all are Spark's still to evaluate."""
        found = [condition_of(one) for one in filters]
        self._conditions = [one for one in found if one is not None and self._reading.takes(one)]
        return filters

    def partitions(self) -> list[InputPartition]:
        with _about(self._table):
            return [TaskPartition(one) for one in self._reading.tasks(self._conditions)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        if isinstance(partition, TaskPartition):  # without any task, Spark makes a partition of its own
            with _about(self._table):
                for batch in partition.task.batches():
                    yield from pyarrow.Table.from_batches([batch]).cast(self._form).to_batches()


@dataclass(frozen=True, slots=True)
class _Push:
    """The call that Spark makes of a reader's method for filters, and that looks like the inherited one to it."""

    reader: LakebedReader

    def __call__(self, filters: Sequence[Any]) -> Sequence[Any]:
        return self.reader.push(filters)

    @property
    def __func__(self) -> Any:
        return getattr(DataSourceReader, "pushFilters", None)


@dataclass
class WrittenMessage(CommitMessage):
    """What a task has written."""

    entries: tuple[bytes, ...]


class LakebedWriter(DataSourceArrowWriter):
    """Writes the rows of each task, and commits or takes back what all have written."""

    def __init__(self, writing: Writing, table: str) -> None:
        self._writing = writing
        self._table = table

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> CommitMessage:
        first = next(iterator, None)
        if first is None:
            return WrittenMessage(())

        def batches() -> Iterator[pyarrow.RecordBatch]:
            yield first
            yield from iterator

        with _about(self._table):
            return WrittenMessage(self._writing.write(pyarrow.RecordBatchReader.from_batches(first.schema, batches())))

    def commit(self, messages: Sequence[CommitMessage | None]) -> None:
        with _about(self._table):
            self._writing.commit(_entries(messages))

    def abort(self, messages: Sequence[CommitMessage | None]) -> None:
        with _about(self._table):
            self._writing.abort(_entries(messages))


def _entries(messages: Sequence[CommitMessage | None]) -> list[tuple[bytes, ...] | None]:
    return [one.entries if isinstance(one, WrittenMessage) else None for one in messages]


def arrow_form(schema: StructType) -> pyarrow.Schema:
    """The Arrow schema that Spark has for rows of its own. Times with a zone are in UTC; 4.0 has no word for it."""
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **cast(Any, zone))


def _about(table: str) -> AbstractContextManager[None]:
    """Errors name the table. Spark shows their text alone, of whichever process they come from."""
    return about_table(table) if table else nullcontext()


def _check_columns(given: StructType, found: StructType) -> None:
    if [(one.name, one.dataType) for one in given.toNullable()] != [(one.name, one.dataType) for one in found]:
        raise Invalid(
            "a read has the table's own columns",
            expected=found.simpleString(),
            found=given.simpleString(),
            advice='Leave out .schema(…); .option("columns", "a, b") chooses some.',
        )


def _batch_only() -> Invalid:
    return Invalid(
        "this data source reads and writes batches, no streams",
        advice="In a stream, use foreachBatch and table.append(frame, event_id=…).",
    )
