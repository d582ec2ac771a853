"""A dry run: functions over empty frames of their inputs' columns: types and contracts are known without a job."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkAttributeError, PySparkTypeError, PySparkValueError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from lakebed.catalog.feed.columns import CHANGE_TYPE
from lakebed.errors import Invalid, LakebedError
from lakebed.lake.catalog import Catalog
from lakebed.pipelines.checks import Check
from lakebed.pipelines.contracts import ColumnChange, column_changes
from lakebed.pipelines.inputs import Changed, Input, Read, Streamed
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.plan import Plan, PlannedStep
from lakebed.pipelines.records.readers import readers
from lakebed.pipelines.running.counted import CountedRows
from lakebed.pipelines.running.frames import MARK, Frames, Positions
from lakebed.pipelines.running.outputs import outputs_of
from lakebed.pipelines.running.quiet import quiet_spark
from lakebed.pipelines.running.writing import check_output
from lakebed.pipelines.steps import Step
from lakebed.pipelines.windows import Window, window_of
from lakebed.spark.session import configured
from lakebed.spark.types import result_schema

CERTAIN = (LakebedError, AnalysisException, PySparkAttributeError, PySparkTypeError, PySparkValueError)
CERTAIN_OF_PYTHON = (NameError, ImportError)
"""What fails over rows too. Another error may come from looking at a row, of which an empty frame has none."""


@dataclass(frozen=True, slots=True)
class EmptyFrames(Frames):
    """The same values as in a run, but frames without rows; of steps above, with the columns that they make."""

    made: dict[str, StructType] = field(default_factory=dict)

    def frame(self, asked: Input, positions: Positions) -> DataFrame:
        schema = self._schema(asked)
        if isinstance(asked, Streamed):
            return _empty_stream(self.spark, schema).alias(MARK + asked.name)
        rows = self.spark.createDataFrame([], schema).alias(MARK + asked.name)
        if isinstance(asked, Read):
            kept = rows if asked.where is None else rows.where(asked.where)
            return kept if asked.columns is None else kept.select(*asked.columns)
        return rows

    def _schema(self, asked: Input) -> StructType:
        known = self.made.get(asked.name)
        if known is None or (isinstance(asked, Read) and asked.at is not None and self.line.table_exists(asked.name)):
            known = self._stored(asked.name)
        if isinstance(asked, Changed):
            return StructType([*known.fields, StructField(CHANGE_TYPE.name, StringType())])
        return known

    def _stored(self, name: str) -> StructType:
        if self.line.view_exists(name):
            rows = self.line.sql(self.spark, f"SELECT * FROM {name}")
            assert isinstance(rows, DataFrame)
            return rows.schema
        return result_schema(self.line.table(name).schema)


def dried(known: Plan, parts: Parts, line: Catalog, spark: SparkSession, *, skipped: bool = True) -> Plan:
    """A plan with what only functions know: columns that change, who reads those that go, and what would fail.

    Steps that are skipped are evaluated too, unless the caller runs the plan now.
    """
    dry = _Dry(parts, line, spark)
    for name in parts.graph.order:
        planned = next((step for step in known.steps if step.name == name), None)
        if planned is not None and planned.problem is None and (skipped or planned.decision.runs):
            dry.evaluate(parts.graph.steps[name])
    return replace(known, steps=tuple(map(dry.with_findings, known.steps)))


class _Dry:
    """What the steps of a pipeline would make, one after the other."""

    def __init__(self, parts: Parts, line: Catalog, spark: SparkSession) -> None:
        self._parts, self._graph, self._line, self._spark = parts, parts.graph, line, spark
        self._frames = EmptyFrames(parts.graph, spark, line, line, parts.params)
        self._changes: dict[str, list[ColumnChange]] = {}
        self._problems: dict[str, LakebedError] = {}
        self._doubts: dict[str, str] = {}

    def evaluate(self, step: Step) -> None:
        """Call a step's function over empty frames; what reads a step that can't be evaluated can't be either."""
        above = self._graph.reach(step.name, down=False) - {step.name}
        if above & (self._problems.keys() | self._doubts.keys()):
            return
        try:
            with quiet_spark():
                self._changes[step.name] = list(self._evaluated(step))
            self._check(step)
        except (*CERTAIN, *CERTAIN_OF_PYTHON) as error:
            self._problems[step.name] = _problem(step, error)
        except Exception as error:
            self._doubts[step.name] = f"{type(error).__name__}: {_first_line(error)}"

    def with_findings(self, planned: PlannedStep) -> PlannedStep:
        """A planned step with what is known of it now."""
        changes = self._changes.get(planned.name, [])
        gone = {change.name for change in changes if change.is_breaking}
        return replace(
            planned,
            columns=tuple(changes),
            readers=tuple(self._readers(planned.name, gone)) if gone else (),
            problem=planned.problem or self._problems.get(planned.name),
            doubt=self._doubts.get(planned.name),
        )

    def _evaluated(self, step: Step) -> Iterator[ColumnChange]:
        window = _first_window(step)
        with configured(self._spark, step.spark_conf):
            answer = step.answer(self._frames.values(step, Positions(), window))
        for output in outputs_of(step, answer):
            check_output(self._line, output)
            CountedRows(output.rows, output.expectations)
            self._frames.made[output.name] = result_schema(output.columns)
            if self._line.table_exists(output.name):
                yield from column_changes(step, self._line.table(output.name), output.columns)

    def _check(self, step: Step) -> None:
        """`Invalid` if a check names a column that a table of the step does not have."""
        for check in self._parts.checks:
            if check.table in step.outputs:
                _check_columns(check, self._frames.made[check.table].names)

    def _readers(self, name: str, gone: set[str]) -> Iterator[str]:
        own = {table for step in self._graph.steps.values() for table in step.outputs}
        for output in self._graph.steps[name].outputs:
            yield from readers(self._line, output, gone, own)
        for reader in self._graph.readers(name):
            step = self._graph.steps[reader]
            if not step.is_view and reader not in self._changes and reader not in self._problems:
                yield from self._left_out(step)

    def _left_out(self, step: Step) -> Iterator[str]:
        """The step itself, if it is not part of the run and fails over the columns that are left."""
        try:
            with quiet_spark():
                for _ in self._evaluated(step):
                    pass
        except CERTAIN:
            yield f"step {step.name}, which does not run"
        except Exception:  # nobody knows before it sees rows
            return


def _check_columns(check: Check, columns: Iterable[str]) -> None:
    known = {name.casefold() for name in columns}
    missing = [name for name in check.columns if name.casefold() not in known]
    if missing:
        raise Invalid(
            "a check is of columns that the table does not have",
            subject=f"check {check.name} of {check.table}",
            expected=", ".join(columns),
            found=", ".join(missing),
        )


def _empty_stream(spark: SparkSession, schema: StructType) -> DataFrame:
    """A stream with these columns, which never runs."""
    source = spark.readStream.format("rate").load()
    return source.select(*(F.lit(None).cast(one.dataType).alias(one.name) for one in schema.fields))


def _first_window(step: Step) -> Window | None:
    if step.window is None:
        return None
    first = step.window.number(step.window.since)
    return window_of(step.window, range(first, first + 1), {})


def _problem(step: Step, error: BaseException) -> LakebedError:
    if isinstance(error, LakebedError):
        return error
    return Invalid(
        f"its function failed over empty frames: {type(error).__name__}: {_first_line(error)}",
        subject=f"step {step.name}",
    )


def _first_line(error: BaseException) -> str:
    lines: list[Any] = str(error).strip().splitlines()
    return str(lines[0]) if lines else ""
