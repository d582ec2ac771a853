"""One step of a run: its rows are made, counted and written in one transaction on the run's branch."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic, sleep

from lakebed.catalog.transaction.commits import event_id
from lakebed.errors import CheckFailed, Conflict, Invalid, LakebedError, StepFailed
from lakebed.lake.catalog import Catalog
from lakebed.lake.transaction import Transaction
from lakebed.pipelines.decisions import Decision
from lakebed.pipelines.facts import STEP, WINDOWS, DoneWindows, Fact, fact_of, windows_of
from lakebed.pipelines.inputs import Read
from lakebed.pipelines.running.counted import CountedRows, checks_of, failure
from lakebed.pipelines.running.flows import FlowsOfStep
from lakebed.pipelines.running.frames import Frames, Positions, time_kinds
from lakebed.pipelines.running.lineage import lineage
from lakebed.pipelines.running.made import Made, StepOfRun
from lakebed.pipelines.running.outputs import outputs_of
from lakebed.pipelines.running.quarantine import Unsteady, empty_quarantine, keep_failing, with_quarantine
from lakebed.pipelines.running.run import CheckRun, StepRun
from lakebed.pipelines.running.writing import (
    Output,
    check_output,
    opened_output,
    write_rows,
)
from lakebed.pipelines.states import State, state_of
from lakebed.pipelines.windows import Schedule, Window, runs_of, window_of
from lakebed.spark.session import configured

PAUSE = 1.0
"""How long the first pause before a step is tried again is, in seconds; each next one is twice as long."""


@dataclass(frozen=True, slots=True)
class WindowMade:
    """A window of a step that is on the branch now, and how many of all windows are."""

    step: str
    window: Window
    reason: str
    rows: int
    done: int
    of: int


class StepRunner:
    """Runs one step on the branch of a run."""

    def __init__(
        self,
        part: StepOfRun,
        frames: Frames,
        branch: Catalog,
        *,
        is_retried: bool = False,
        report: Callable[[WindowMade], None] | None = None,
    ) -> None:
        self._part, self._frames, self._branch, self._is_retried = part, frames, branch, is_retried
        self._report = report
        self._step = part.step

    def run(self, decision: Decision) -> tuple[StepRun, Made]:
        """Make the step's rows, and again as often as it allows; `StepFailed`, `CheckFailed`."""
        begun = monotonic()
        for attempt in range(self._step.retries + 1):
            try:
                made = self._make(decision)
                break
            except (CheckFailed, Invalid, Conflict):
                raise
            except (Exception, SystemExit) as error:
                if attempt == self._step.retries:
                    if isinstance(error, StepFailed):
                        raise
                    raise failed(f"step {self._step.name}", error) from error
                sleep(PAUSE * 2**attempt)
        took = timedelta(seconds=monotonic() - begun)
        name, action = self._step.name, decision.action.value
        return StepRun(name, "done", action, decision.reason, made.rows, made.dropped, made.quarantined, took), made

    def _make(self, decision: Decision) -> Made:
        if self._step.flows:
            return FlowsOfStep(self._part, self._frames, self._branch, self._fact(), self._is_retried).make(decision)
        if self._step.window is None:
            return self._make_once(decision, None, None)
        return self._make_windows(self._step.window, decision)

    def _make_windows(self, schedule: Schedule, decision: Decision) -> Made:
        kinds = time_kinds(
            {name: self._branch.table(name) for name in self._part.tables if self._branch.table_exists(name)}
        )
        parts: list[tuple[Window, Made]] = []
        count = 0
        for numbers in runs_of(list(decision.windows), schedule.batch):
            window = window_of(schedule, numbers, kinds)
            made, count = self._make_once(decision, window, numbers), count + len(numbers)
            parts.append((window, made))
            if self._report is not None:
                about = WindowMade(self._step.name, window, decision.reason, made.rows, count, len(decision.windows))
                self._report(about)
        return Made(
            sum(made.rows for _, made in parts),
            sum(made.dropped for _, made in parts),
            sum(made.quarantined for _, made in parts),
            _summed([check for _, made in parts for check in made.checks]),
            tuple((window, made.rows) for window, made in parts),
            parts[-1][1].lineage if parts else {},
        )

    def _make_once(self, decision: Decision, window: Window | None, numbers: range | None) -> Made:
        fact = self._fact()
        with configured(self._frames.spark, self._step.spark_conf):
            answer = self._step.answer(self._frames.values(self._step, self._positions(decision), window))
            outputs = outputs_of(self._step, answer)
            for output in outputs:
                check_output(self._branch, output)
            if self._is_retried and not decision.starts_over:
                outputs = [with_quarantine(self._branch, output) for output in outputs]
            try:
                return self._write(decision, outputs, fact, window, numbers)
            except Unsteady:
                held = [Output(one.step, one.name, one.rows.persist()) for one in outputs]
                try:
                    return self._write(decision, held, fact, window, numbers)
                finally:
                    for output in held:
                        output.rows.unpersist()

    def _write(
        self,
        decision: Decision,
        outputs: list[Output],
        fact: Fact,
        window: Window | None,
        numbers: range | None,
    ) -> Made:
        message = f"{self._part.pipeline} run {self._part.number}: {self._step.name}" + (f" {window}" if window else "")
        event = event_id(self._part.run, self._step.name, fact.text(), "" if window is None else window.label)
        results = []
        with self._branch.transaction(message, event_id=event) as tx:
            for output in outputs:
                results.append(self._write_output(tx, decision, output, fact, window, numbers))
        return Made(
            sum(made.rows for made in results),
            sum(made.dropped for made in results),
            sum(made.quarantined for made in results),
            tuple(check for made in results for check in made.checks),
            lineage={output.name: lineage(output.rows) for output in outputs},
        )

    def _write_output(
        self,
        tx: Transaction,
        decision: Decision,
        output: Output,
        fact: Fact,
        window: Window | None,
        numbers: range | None,
    ) -> Made:
        expectations = output.expectations
        counted = CountedRows(output.rows, expectations)
        before = windows_of(tx.table(output.name)) if tx.table_exists(output.name) else DoneWindows("")
        keeps_rows = window is not None or (self._step.write.is_incremental and not decision.starts_over)
        table = opened_output(tx, output, keeps_rows=keeps_rows)
        if self._is_retried or decision.starts_over or window is not None or self._step.write.mode == "replace":
            empty_quarantine(tx, output, window)
        write_rows(table, self._step, counted.good(), starts_over=decision.starts_over, window=window)
        counts = counted.counts()
        checks = tuple(checks_of(output.name, counts, expectations))
        if any(check.is_error for check in checks):
            raise failure(self._step, output.name, counted, checks)
        quarantined = keep_failing(tx, output, counted, counts, self._part.number)
        noted = {STEP: fact.text()}
        if numbers is not None:
            left = before if before.run == self._part.run else before.without({*decision.windows, *decision.late})
            noted[WINDOWS] = left.with_made(numbers, self._part.code, self._part.run).text()
        tx.table(output.name).set_properties(noted)
        return Made(counts.kept, counts.rows - counts.kept - quarantined, quarantined, checks)

    def _positions(self, decision: Decision) -> Positions:
        """From where `changes` and `appended` go on: what the last published run has noted."""
        if decision.starts_over:
            return Positions()
        found = [self._branch.table(name) for name in self._step.outputs if self._branch.table_exists(name)]
        facts = [fact for fact in map(fact_of, found) if fact is not None]
        return Positions(facts[0].inputs if facts else {})

    def _fact(self) -> Fact:
        """What this run notes: the states of the inputs as the branch has them now."""
        states: dict[str, State] = {}
        for name, source in self._part.tables.items():
            if isinstance(source, Read) and source.at is not None:
                continue
            if self._branch.table_exists(name):
                states[name] = state_of(self._branch.table(name))
        part = self._part
        return Fact(part.pipeline, self._step.name, part.run, part.number, part.code, states)


def _summed(checks: list[CheckRun]) -> tuple[CheckRun, ...]:
    """The checks of several windows, each once."""
    found: dict[tuple[str, str], CheckRun] = {}
    for one in checks:
        known = found.get((one.table, one.name))
        failed = (one.failed or 0) + (0 if known is None else known.failed or 0)
        rows = int(one.value or 0) + (0 if known is None else int(known.value or 0))
        passed = one.passed and (known is None or known.passed)
        found[one.table, one.name] = CheckRun(one.name, one.table, one.severity, passed, failed, str(rows), one.message)
    return tuple(found.values())


def failed(subject: str, error: BaseException) -> LakebedError:
    """An error of Spark or of the user's code, as one of ours."""
    text = str(error).strip().splitlines()
    return StepFailed(
        f"{type(error).__name__}: {text[0] if text else ''}".rstrip(": "),
        subject=subject,
        advice="Fix the step or its input, then resume the run.",
    )
