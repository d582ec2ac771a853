"""`spark.read.format("lakebed")` and `df.write.format("lakebed")`: a Python data source, for users who expect one.

`table.read` is 2 to 24 times as fast: it uses Spark's own reader, while this source sends Arrow batches from Python, of
all columns that the option `columns` names. Spark runs each step in a process of its own. This adapter hands the steps
of `Tables`, which knows the lake, from one process to the next. Filters that Spark pushes become conditions that files
are pruned by; Spark still evaluates all of them.
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

NAME = "lakebed"

_CONDITIONS: dict[str, Callable[[Column, Any], Condition]] = {
    "EqualTo": lambda column, value: column == value,
    "EqualNullSafe": lambda column, value: column.is_null() if value is None else column == value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
    "In": lambda column, value: column.is_in([item for item in value if item is not None]),
    "IsNull": lambda column, _: column.is_null(),
    "IsNotNull": lambda column, _: column.is_not_null(),
    "StringStartsWith": lambda column, value: column.starts_with(value),
}

# A session may push values through Java's old calendar. It turns the ten days before this one into it, and changes
# times near a zone's first clock changes, the last of them before 1900. `read/pushdown.py` says which sessions do.
_UNSURE_DAY = date(1582, 10, 15)
_SURE_FROM = datetime(1900, 1, 1, tzinfo=UTC)


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
    """The source of a lake's tables. `source_of` makes the subclass for a lake."""

    tables: ClassVar[Tables]
    format: ClassVar[str] = NAME
    _reading: Reading | None = None

    @classmethod
    def name(cls) -> str:
        return cls.format

    def schema(self) -> StructType:
        # Spark plans the read with this same object, so the version is the one at `load`.
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
    """Plans a read, and reads the rows of one task."""

    def __init__(self, reading: Reading, form: pyarrow.Schema, table: str) -> None:
        self._reading = reading
        self._form = form
        self._table = table
        self._conditions: list[Condition] = []

    @property
    def pushFilters(self) -> Any:
        # Spark refuses a reader with a method of this name if `spark.sql.python.filterPushdown` is off, which is the
        # default. It compares the method's function with the one that readers inherit.
        return _Push(self)

    def push(self, filters: Sequence[Any]) -> Sequence[Any]:
        """Prune by the filters that Lakebed understands; Spark still evaluates all of them."""
        found = [condition_of(filter) for filter in filters]
        self._conditions = [
            condition for condition in found if condition is not None and self._reading.takes(condition)
        ]
        return filters

    def partitions(self) -> list[InputPartition]:
        with _about(self._table):
            return [TaskPartition(task) for task in self._reading.tasks(self._conditions)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        if isinstance(partition, TaskPartition):  # if there are no tasks, Spark makes a partition of its own
            with _about(self._table):
                for batch in partition.task.batches():
                    yield from pyarrow.Table.from_batches([batch]).cast(self._form).to_batches()


@dataclass
class WrittenMessage(CommitMessage):
    """The entries of the files that a task wrote."""

    entries: tuple[bytes, ...]


class LakebedWriter(DataSourceArrowWriter):
    """Writes the rows of each task; commits or discards what all tasks wrote."""

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


def arrow_form(schema: StructType) -> pyarrow.Schema:
    """The Arrow schema of Spark's rows. Times with a zone are in UTC, which Spark 4.0 has no parameter for."""
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **cast(Any, zone))


def condition_of(filter: Any) -> Condition | None:
    """The condition for a filter of Spark's, None if there is none; the two agree on nulls.

    Filters are recognised by the names of their classes, which Spark 4.0 does not have.
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
    except Invalid:  # a type that no condition has; Spark evaluates the filter itself
        return None


@dataclass(frozen=True, slots=True)
class _Push:
    """A reader's `pushFilters`, which looks like the inherited method to Spark."""

    reader: LakebedReader

    def __call__(self, filters: Sequence[Any]) -> Sequence[Any]:
        return self.reader.push(filters)

    @property
    def __func__(self) -> Any:
        return getattr(DataSourceReader, "pushFilters", None)


def _entries(messages: Sequence[CommitMessage | None]) -> list[tuple[bytes, ...] | None]:
    return [message.entries if isinstance(message, WrittenMessage) else None for message in messages]


def _about(table: str) -> AbstractContextManager[None]:
    """Make errors name the table: Spark shows only their text, whichever process they come from."""
    return about_table(table) if table else nullcontext()


def _check_columns(given: StructType, found: StructType) -> None:
    if [(field.name, field.dataType) for field in given.toNullable()] != [
        (field.name, field.dataType) for field in found
    ]:
        raise Invalid(
            "a read can't have a schema of its own",
            expected=found.simpleString(),
            found=given.simpleString(),
            advice='Leave out .schema(…); .option("columns", "a, b") chooses some.',
        )


def _batch_only() -> Invalid:
    return Invalid(
        "this data source reads and writes batches, not streams",
        advice="Use table.read_stream(spark) and table.write_stream(df, checkpoint).",
    )


def _knows_null(filter: Any) -> bool:
    """Whether a null in the filter makes it false where its condition is unknown, or the other way round."""
    kind = type(filter).__name__
    return kind == "EqualNullSafe" or (kind == "In" and None in filter.value)


def _is_unsure(value: Any) -> bool:
    """Whether the query may have asked for another date or time."""
    if isinstance(value, datetime):
        return value.tzinfo is not None and value < _SURE_FROM
    return isinstance(value, date) and value == _UNSURE_DAY


def _quoted(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as `col` takes them: a single name may contain a dot."""
    return names if len(names) > 1 else (f"`{names[0].replace('`', '``')}`",)
