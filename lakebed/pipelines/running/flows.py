"""The streams of a step: each batch is one commit on the run's branch, by a checkpoint that is the run's own.

    opening   the table, and for each flow a checkpoint of this run: a copy of the last published one, or an empty one
    batches   rows, quarantine, and what was counted: event id (run, step, checkpoint, batch)
    closing   the positions say that they are done

docs/internals/declarative.md lists what a crash leaves.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from lakebed.catalog.transaction.commits import Request, event_id
from lakebed.errors import CheckFailed, Invalid, StepFailed
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.lake.transaction import Transaction
from lakebed.pipelines.decisions import Decision
from lakebed.pipelines.facts import STEP, Fact, fact_of
from lakebed.pipelines.flows import Flow
from lakebed.pipelines.inputs import Streamed
from lakebed.pipelines.running import checkpoints
from lakebed.pipelines.running.cdc import apply_changes, open_state, target_rows
from lakebed.pipelines.running.counted import CountedRows, Counts, checks_of, failure
from lakebed.pipelines.running.frames import Frames, Positions
from lakebed.pipelines.running.lineage import lineage
from lakebed.pipelines.running.made import Made, StepOfRun
from lakebed.pipelines.running.positions import FlowPosition, positions_of, property_of
from lakebed.pipelines.running.quarantine import Unsteady, empty_quarantine, keep_failing, quarantined_rows
from lakebed.pipelines.running.run import CheckRun
from lakebed.pipelines.running.writing import Output, check_output, opened_output
from lakebed.pipelines.steps import Step
from lakebed.spark.fit import quoted
from lakebed.spark.session import configured, is_remote
from lakebed.spark.streaming.batches import Batch, start_batches
from lakebed.spark.streaming.queries import queries_of
from lakebed.store import Version

AVAILABLE_NOW = {"availableNow": True}

_ADVICE = (
    "Fix the flow or its source, then resume the run. If Spark can't go on with its checkpoint, since the query is "
    "another one now: full_refresh."
)
_REASON = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*)")


def combined(frames: Sequence[DataFrame]) -> DataFrame:
    """What all flows of a table make, as one frame: its columns are those of the table."""
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)


def made_rows(flow: Flow, rows: DataFrame) -> DataFrame:
    """The rows of a flow with the columns of its table: one that applies changes has those of its source."""
    return rows if flow.cdc is None else target_rows(rows, flow.cdc)


def are_done(table: Table[Any], flows: Sequence[Flow], run: str) -> bool:
    """Whether a run has read all that there is for the flows of a table."""
    found = positions_of(table)
    return all(flow.name in found and found[flow.name].run == run and found[flow.name].is_done for flow in flows)


@dataclass(frozen=True, slots=True)
class FlowsOfStep:
    """Runs the flows of a step, one after the other, each until it has read all that is there."""

    part: StepOfRun
    frames: Frames
    branch: Catalog
    fact: Fact
    is_retried: bool = False

    def make(self, decision: Decision) -> Made:
        """Read what is new, and write it; `CheckFailed` if rows break an expectation that is an error."""
        step, flows = self.part.step, self.part.step.flows
        if is_remote(self.frames.spark):
            raise Invalid(
                "over Spark Connect, batches of a stream can't be handed to this process",
                subject=f"step {step.name}",
                advice="Use a session in this process.",
            )
        values = self.frames.values(step, Positions())
        rows = {flow.name: flow.rows(values) for flow in flows}
        output = Output(step, step.outputs[0], combined([made_rows(flow, rows[flow.name]) for flow in flows]))
        check_output(self.branch, output)
        before, known = self.branch.version, self._known_fact(output.name)
        positions = self._opened(output, rows, decision)
        for flow in flows:
            self._drain(flow, rows[flow.name], output, positions[flow.name])
        is_as_before = known is not None and known.code == self.part.code and known.run != self.part.run
        if is_as_before and not decision.starts_over and self._has_read_nothing(output.name):
            return self._taken_back(output, before)
        return self._closed(output)

    # Opening.

    def _opened(self, output: Output, rows: Mapping[str, DataFrame], decision: Decision) -> dict[str, FlowPosition]:
        """The checkpoints of this run. They are properties of the table, so that a table that is restored has none."""
        known = positions_of(self.branch.table(output.name)) if self.branch.table_exists(output.name) else {}
        own = {name: position for name, position in known.items() if position.run == self.part.run}
        if all(flow.name in own for flow in self.part.step.flows):
            return own
        before = {} if decision.starts_over else known
        opened = {flow.name: self._new(flow, output, before.get(flow.name)) for flow in self.part.step.flows}
        message, names = self._message("begins"), [opened[name].checkpoint for name in sorted(opened)]
        with self.branch.transaction(message, event_id=event_id(self.part.run, output.name, *names)) as tx:
            self._open(tx, output, rows, decision, opened)
        return opened

    def _new(self, flow: Flow, output: Output, before: FlowPosition | None) -> FlowPosition:
        name, step = checkpoints.new_name(self.part.number, flow.name), self.part.step
        empty = FlowPosition(self.part.run, name, self.branch._scope.context.files.url)
        if before is None:
            return empty
        if before.lake != empty.lake and any(isinstance(source, Streamed) for source in self.part.tables.values()):
            raise StepFailed(
                "the lake was moved, or is a copy: a flow's position is paths of where it was",
                subject=f"step {step.name}, flow {flow.name}",
                expected=before.lake,
                found=empty.lake,
                advice=f"Move it back, or read everything again: full_refresh={step.name!r}.",
            )
        table = self.branch.table(output.name)
        old = checkpoints.place_of(table, before.checkpoint)
        if before.batches or before.since is not None:
            checkpoints.check_begun(old, flow.name, step.name)
        if not old.is_dir():
            return empty
        checkpoints.copy(old, checkpoints.place_of(table, name))
        return replace(empty, since=before.checkpoint)

    def _open(
        self,
        tx: Transaction,
        output: Output,
        rows: Mapping[str, DataFrame],
        decision: Decision,
        opened: Mapping[str, FlowPosition],
    ) -> None:
        again = quarantined_rows(self.branch, output) if self.is_retried and not decision.starts_over else None
        table = opened_output(tx, output, keeps_rows=not decision.starts_over)
        if decision.starts_over and fact_of(table) is not None:
            table.truncate()  # rows that no pipeline made stay
            stale = positions_of(table).keys() - opened.keys()
            table.unset_properties([property_of(name) for name in stale])
        if decision.starts_over or again is not None:
            empty_quarantine(tx, output, None)
        for flow in self.part.step.flows:
            if flow.cdc is not None:
                starts_over = decision.starts_over
                open_state(tx, self.part.step, output.name, rows[flow.name], flow.cdc, starts_over=starts_over)
        noted = dict(opened)
        if again is not None:
            first = self.part.step.flows[0].name
            noted[first] = replace(self._written(tx, output, again, opened[first]), batches=0)
        facts = {property_of(name): position.text() for name, position in noted.items()}
        table.set_properties({STEP: self.fact.text(), **facts})

    # Batches.

    def _drain(self, flow: Flow, rows: DataFrame, output: Output, position: FlowPosition) -> None:
        """Hand all batches that there are to `_write`, each as a commit."""
        place = checkpoints.place_of(self.branch.table(output.name), position.checkpoint)
        if position.batches or position.since is not None:
            checkpoints.check_begun(place, flow.name, self.part.step.name)
        raised: list[BaseException] = []  # of what Spark calls in a thread of its own, it passes on the text alone

        def write(batch_rows: DataFrame, batch: Batch) -> None:
            try:
                self._write(flow, batch_rows, batch, output, position.checkpoint)
            except BaseException as error:
                raised.append(error)
                raise RuntimeError(str(error)) from error

        name = self._message(flow.name)
        try:
            with configured(self.frames.spark, flow.conf):
                query = start_batches(
                    rows, write, f"file://{place}", output_mode="append", trigger=AVAILABLE_NOW, name=name
                )
            wait(self.frames.spark, query, f"step {self.part.step.name}, flow {flow.name}", _ADVICE)
        except StepFailed:
            if raised:
                raise raised[0] from None
            raise

    def _write(self, flow: Flow, rows: DataFrame, batch: Batch, output: Output, checkpoint: str) -> None:
        checkpoints.make_durable(self.branch.table(output.name), checkpoint, batch.number)
        event = event_id(self.part.run, self.part.step.name, checkpoint, batch.number)
        if self.branch._scope.replayed(Request("transaction", event_id=event)) is not None:
            return
        fitted = _fitted(rows, output.rows.schema) if flow.cdc is None else rows
        try:
            self._commit(flow, fitted, batch, output, event)
        except Unsteady:
            held = fitted.persist()
            try:
                self._commit(flow, held, batch, output, event)
            finally:
                held.unpersist()

    def _commit(self, flow: Flow, rows: DataFrame, batch: Batch, output: Output, event: str) -> None:
        message = self._message(f"{flow.name}, batch {batch.number}")
        with self.branch.transaction(message, event_id=event) as tx:
            table = tx.table(output.name)
            position = positions_of(table)[flow.name]
            if flow.cdc is None:
                position = self._written(tx, output, rows, position)
            else:
                count = apply_changes(tx, output.name, rows, flow.cdc)
                position = position.after(count, count, 0, {})
            table.set_properties({property_of(flow.name): position.text()})

    def _written(self, tx: Transaction, output: Output, rows: DataFrame, position: FlowPosition) -> FlowPosition:
        """Write rows to the table and to its quarantine, and count them."""
        counted = CountedRows(rows, output.expectations)
        tx.table(output.name).append(counted.good())
        counts = counted.counts()
        never = [one for one in output.expectations if one.severity == "error" and not one.up_to]
        checks = list(checks_of(output.name, counts, never))
        if any(check.is_error for check in checks):
            raise failure(self.part.step, output.name, counted, checks)
        quarantined = keep_failing(tx, replace(output, rows=rows), counted, counts, self.part.number)
        return position.after(counts.rows, counts.kept, quarantined, counts.failed)

    # Closing.

    def _known_fact(self, table: str) -> Fact | None:
        return fact_of(self.branch.table(table)) if self.branch.table_exists(table) else None

    def _has_read_nothing(self, table: str) -> bool:
        found = positions_of(self.branch.table(table))
        return not any(found[flow.name].batches or found[flow.name].rows for flow in self.part.step.flows)

    def _taken_back(self, output: Output, before: Version) -> Made:
        """Leave the table as it was, with its old position: a run that has read nothing publishes nothing."""
        table = self.branch.table(output.name)
        copies = [positions_of(table)[flow.name].checkpoint for flow in self.part.step.flows]
        self.branch.restore_table(output.name, before, message=self._message("nothing to read"))
        for name in copies:
            checkpoints.remove(table, name)
        return Made(0, 0, 0, ())

    def _closed(self, output: Output) -> Made:
        """Note that all was read, unless more rows than are allowed have failed in all batches together."""
        step = self.part.step
        table = self.branch.table(output.name)
        found = positions_of(table)
        own = {flow.name: found[flow.name] for flow in step.flows}
        counts = _summed(list(own.values()), [one.name for one in output.expectations])
        checks = tuple(checks_of(output.name, counts, output.expectations))
        failed = [check for check in checks if check.is_error]
        if failed:
            raise too_many(step, output.name, checks)
        for position in own.values():
            checkpoints.make_durable(table, position.checkpoint)
        done = {property_of(name): replace(position, is_done=True).text() for name, position in own.items()}
        event = event_id(self.part.run, step.name, "done", *(own[name].checkpoint for name in sorted(own)))
        with self.branch.transaction(self._message("done"), event_id=event) as tx:
            tx.table(output.name).set_properties(done)
        quarantined = sum(position.quarantined for position in own.values())
        dropped = counts.rows - counts.kept - quarantined
        return Made(counts.kept, dropped, quarantined, checks, lineage={output.name: lineage(output.rows)})

    def _message(self, what: str) -> str:
        return f"{self.part.pipeline} run {self.part.number}: {self.part.step.name}, {what}"


def wait(spark: SparkSession, query: StreamingQuery, subject: str, advice: str) -> None:
    """Wait for the end of a query; `StepFailed` says what Spark, or a table that it reads, had against it."""
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise StepFailed(_reason(error), subject=subject, advice=advice) from error
    finally:
        query.stop()
        queries_of(spark).ended(str(query.runId))


def too_many(step: Step, table: str, checks: Sequence[CheckRun]) -> CheckFailed:
    """The error of expectations that more rows have failed, in all batches, than may."""
    failed = [check for check in checks if check.is_error]
    return CheckFailed(
        "; ".join(f"{check.name}: {check.failed:,} of {check.value} rows failed" for check in failed),
        subject=f"step {step.name}, table {table}",
        advice="Repair the rows or the step, then resume the run.",
        failures=checks,
    )


def _reason(error: StreamingQueryException) -> str:
    """The innermost reason that Spark gives: around it stand those of the task, the stage and the query."""
    text = str(error)
    found = _REASON.findall(text)
    lines = [line for line in (found[-1] if found else text).strip().splitlines() if line]
    return lines[0] if lines else "the stream failed"


def _summed(positions: Sequence[FlowPosition], names: Sequence[str]) -> Counts:
    failed = {name: sum(position.failed.get(name, 0) for position in positions) for name in names}
    rows, kept = sum(position.rows for position in positions), sum(position.kept for position in positions)
    return Counts(rows, kept, failed)


def _fitted(rows: DataFrame, columns: StructType) -> DataFrame:
    """The rows of one flow with the types of the table: another flow may have wider ones."""
    wanted = {one.name.casefold(): one for one in columns.fields}
    return rows.select(
        *(F.col(quoted(name)).cast(wanted[name.casefold()].dataType).alias(name) for name in rows.columns)
    )
