"""A run from its branch to its publication: docs/internals/pipelines.md lists the steps, and what a crash leaves."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from time import monotonic
from typing import Any, Literal

from pyspark.sql import SparkSession

from lakebed.catalog.refs.closed import close_branch
from lakebed.catalog.transaction.commits import event_id
from lakebed.errors import CheckFailed, Conflict, LakebedError, NotFound, StepFailed
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.decisions import Asked, Decision, changed_inputs, decide
from lakebed.pipelines.expectations import QUARANTINE
from lakebed.pipelines.facts import Fact, fact_of
from lakebed.pipelines.inputs import Read
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.records.journal import Journal, now
from lakebed.pipelines.running.cdc import STATE
from lakebed.pipelines.running.checking import examples_text, run_check
from lakebed.pipelines.running.ended import end_unchanged, finish
from lakebed.pipelines.running.flows import are_done
from lakebed.pipelines.running.frames import Frames
from lakebed.pipelines.running.hooks import PREFIX, note_waiting, run_hooks
from lakebed.pipelines.running.lineage import Columns
from lakebed.pipelines.running.made import Made, StepOfRun
from lakebed.pipelines.running.publish import publish, published
from lakebed.pipelines.running.run import CheckRun, Run, Status, StepRun
from lakebed.pipelines.running.step import StepRunner, WindowMade, failed
from lakebed.pipelines.running.summary import summary
from lakebed.pipelines.running.writing import keep_view, window_column
from lakebed.pipelines.states import State, state_of
from lakebed.pipelines.steps import Step

_log = logging.getLogger("lakebed.pipelines")

ATTEMPTS = 5
"""How often a run begins again because others change its inputs, with isolation `serializable`."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run, for whoever shows it: `kind` says what, `about` which step, check or hook.

    `detail` is of `begin` the steps to come, of `check` the number of all, else what was made or found.
    """

    kind: Literal["begin", "step", "window", "done", "check", "checked", "publish", "end"]
    about: str
    run: Run
    detail: Any = None


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How a run was asked for."""

    chosen: Sequence[str]
    asked: Asked = field(default_factory=Asked)
    publish: bool = True
    isolation: Literal["snapshot", "serializable"] = "snapshot"
    skipped_checks: frozenset[str] = frozenset()
    no_checks: bool = False
    listeners: Sequence[Listener] = ()


class Runner:
    """One run: the same object makes its branch, runs its steps and its checks, and publishes it."""

    def __init__(
        self, parts: Parts, lake: Lake, spark: SparkSession, target: Catalog, journal: Journal, options: Options
    ) -> None:
        self._parts, self._lake, self._spark, self._target = parts, lake, spark, target
        self._journal, self._options = journal, options
        self._codes = parts.codes()
        self._again: set[str] = set()
        self._begun: set[str] = set()
        self._windows: dict[str, str] = {}
        self._began = monotonic()
        row = journal.row
        self.run = Run(journal.number, parts.name, target.ref, str(row["branch"]), str(row["base"]))

    def go(self) -> Run:
        """Run what is left of the run, and publish it; what goes wrong is the run's status and error."""
        self._began = monotonic()
        self._tell("begin", self._parts.name, self._coming())
        try:
            self._go()
        except KeyboardInterrupt:
            self._end("interrupted", StepFailed("interrupted", advice="Resume the run."))
            self._tell("end", self.run.status)
            raise
        except CheckFailed as error:
            self._end("check_failed", error)
        except Conflict as error:
            error.advice = f"Give run {self.run.id} up with `lakebed runs discard`, and run the pipeline again."
            self._end("conflict", error)
        except LakebedError as error:
            self._end("step_failed", error)
        except Exception as error:
            self._end("step_failed", failed(f"run {self.run.id}", error))
            assert self.run.error is not None
            self.run.error.__cause__ = error
        self._tell("end", self.run.status)
        return self.run

    def _coming(self) -> tuple[str, ...]:
        """The steps that it will run or skip, in their order."""
        graph, chosen = self._parts.graph, self._options.chosen
        return tuple(name for name in graph.order if name in chosen and not graph.steps[name].is_view)

    def _go(self) -> None:
        known = published(self._target, self._journal.uuid)
        if known is not None:
            self.run.published = known
            self._finish()
            return
        for attempt in range(ATTEMPTS):
            branch = self._branch()
            self._steps(branch)
            self._journal.row["checked"] = str(branch.version)  # written with what comes next
            self._check(branch)
            if not self._options.publish:
                note_waiting(self._parts.hooks, self._journal)  # whoever publishes it may not know them
                self._end("ready")
                return
            try:
                self._publish(branch)
            except Conflict as error:
                if self._options.isolation != "serializable" or attempt + 1 == ATTEMPTS or error.conflicts:
                    raise
                self._begin_again(branch)
                continue
            return

    # The branch.

    def _branch(self) -> Catalog:
        name, row = self.run.branch, self._journal.row
        event = event_id(self._journal.uuid, "branch", row["attempt"])
        try:
            branch = self._target.branch(name)
        except NotFound:
            message = f"{self._parts.name} run {self.run.id}"
            branch = self._target.create_branch(name, self._base, message=message, event_id=event)
        close_branch(branch._scope.context, branch._scope.ref, f"run {self.run.id} of {self._parts.name} is unfinished")
        return branch

    @property
    def _base(self) -> int:
        return int(self._journal.row["base"])

    def _begin_again(self, branch: Catalog) -> None:
        """Fork again from the target as it is now: an input has changed."""
        self._target.drop_branch(branch.ref)
        base = str(self._target.version)
        self._journal.change(base=base, attempt=int(self._journal.row["attempt"]) + 1)
        self.run.base = base
        self.run.steps.clear()
        self.run.checks.clear()

    def _frames(self, branch: Catalog) -> Frames:
        then = self._target.at(version=self._base)
        return Frames(self._parts.graph, self._spark, branch, then, self._parts.params, self.run, self._lake)

    # The steps.

    def _steps(self, branch: Catalog) -> None:
        frames = self._frames(branch)
        for name in self._coming():
            self._tell("step", name)
            found = self._step(self._parts.graph.steps[name], branch, frames)
            self.run.steps.append(found)
            self._tell("done", name, found)
        for view in (self._parts.graph.steps[name] for name in self._options.chosen):
            if view.kept is not None:
                keep_view(branch, view, f"{self._parts.name} run {self.run.id}: {view.name}")

    def _step(self, step: Step, branch: Catalog, frames: Frames) -> StepRun:
        tables, code = self._parts.graph.tables(step.name), self._codes[step.name]
        own = self._own_fact(step, branch)
        if own is not None and self._is_done(step, branch, own):
            return self._noted(step)
        asked = self._options.asked
        if own is not None:
            self._begun.add(step.name)
            self._undo(step, branch)
            asked = replace(asked, goes_on=self._own_fact(step, branch) is not None)
        decision = decide(step, tables, branch, code, asked)
        if not decision.runs:
            found = StepRun(step.name, "skipped", decision.action.value, decision.reason)
            self._journal.step(
                step.name, status="skipped", action="skip", reason=decision.reason, code=code, error=None
            )
            return found
        self._again.add(step.name)
        part = StepOfRun(step, tables, code, self._parts.name, self._journal.uuid, self.run.id)
        started, begun = now(), monotonic()
        self._journal.step(
            step.name,
            status="running",
            action=decision.action.value,
            reason=decision.reason,
            started=started,
            code=code,
            error=None,
        )
        try:
            is_retried = step.name in self._options.asked.retry
            runner = StepRunner(part, frames, branch, is_retried=is_retried, report=self._window_made)
            done, made = runner.run(decision)
        except BaseException as error:
            self._fail(step, decision, error, timedelta(seconds=monotonic() - begun))
            raise
        self._note(step, done, made, branch)
        return done

    def _own_fact(self, step: Step, branch: Catalog) -> Fact | None:
        """What this run has already noted of a step; of a step with windows only if none is left."""
        found = [branch.table(name) for name in step.outputs if branch.table_exists(name)]
        facts = [fact for fact in map(fact_of, found) if fact is not None and fact.run == self._journal.uuid]
        return facts[0] if facts else None

    def _is_done(self, step: Step, branch: Catalog, own: Fact) -> bool:
        graph, code = self._parts.graph, self._codes[step.name]
        if own.code != code or self._has_made_again(step):
            return False
        if any(changed_inputs(graph.tables(step.name), branch, own, set())):
            return False
        if step.flows:
            return are_done(branch.table(step.outputs[0]), step.flows, self._journal.uuid)
        if step.window is None:
            return True
        asked = replace(self._options.asked, goes_on=True)
        return not decide(step, graph.tables(step.name), branch, code, asked).runs

    def _has_made_again(self, step: Step) -> bool:
        """Whether this process has run a step that it reads."""
        return any(maker in self._again for maker in self._parts.graph.reach(step.name, down=False) - {step.name})

    def _undo(self, step: Step, branch: Catalog) -> None:
        """Give a step that has to run again its tables back, as they were at the fork."""
        goes_on = step.window is not None or (step.flows and not self._has_made_again(step))
        if goes_on and self._own_code_is(step, branch):
            return  # windows and batches that are done stay, and the others are made
        then, message = self._target.at(version=self._base), f"run {self.run.id} again: {step.name}"
        for name in (output + beside for output in step.outputs for beside in ("", QUARANTINE, STATE)):
            if not branch.table_exists(name):
                continue
            if then.table_exists(name):
                branch.restore_table(name, self._base, message=message)
            else:
                branch.drop_table(name, message=message)

    def _own_code_is(self, step: Step, branch: Catalog) -> bool:
        own = self._own_fact(step, branch)
        unchanged = own is not None and not any(changed_inputs(self._parts.graph.tables(step.name), branch, own, set()))
        return unchanged and own is not None and own.code == self._codes[step.name]

    def _noted(self, step: Step) -> StepRun:
        row = self._journal.noted_steps().get(step.name, {})
        rows, dropped, quarantined = (int(row.get(name) or 0) for name in ("rows", "dropped", "quarantined"))
        return StepRun(step.name, "done", str(row.get("action") or "done"), "done before", rows, dropped, quarantined)

    def _note(self, step: Step, done: StepRun, made: Made, branch: Catalog) -> None:
        states = {
            name: state_of(branch.table(name)).document()
            for name in self._parts.graph.tables(step.name)
            if branch.table_exists(name)
        }
        self._journal.step(
            step.name,
            status="done",
            ended=now(),
            rows=done.rows,
            dropped=done.dropped,
            quarantined=done.quarantined,
            inputs=json.dumps(states),
        )
        self._journal.lineage(list(_lineage_rows(made, states)))
        if made.windows and step.name not in self._begun:  # else another process has made some of them
            self._windows |= {name: _written(step, branch, name, made) for name in step.outputs}
        self._note_checks(made.checks)

    def _window_made(self, made: WindowMade) -> None:
        """Note a window as soon as it is on the branch."""
        self._journal.windows(
            [
                {
                    "step": made.step,
                    "window": made.window.label,
                    "first": made.window.start,
                    "last": made.window.end,
                    "reason": made.reason,
                    "rows": made.rows,
                }
            ]
        )
        self._tell("window", made.step, made)

    def _fail(self, step: Step, decision: Decision, error: BaseException, took: timedelta) -> None:
        found = StepRun(step.name, "failed", decision.action.value, decision.reason, took=took, error=str(error))
        self.run.steps.append(found)
        with suppress(LakebedError):  # the error itself is what people have to see
            self._journal.step(step.name, status="failed", ended=now(), error=str(error))
            if isinstance(error, CheckFailed):
                self._note_checks([check for check in error.failures if isinstance(check, CheckRun)])
        self._tell("done", step.name, found)

    # Checks.

    def _check(self, branch: Catalog) -> None:
        ran = [step.name for step in self.run.steps if step.status == "done"]
        if self._options.no_checks:
            return
        frames = self._frames(branch)
        due = [
            check
            for check in self._parts.due(self._options.chosen, ran)
            # A table may not be there yet, if its step was not chosen.
            if check.name not in self._options.skipped_checks and frames.has(check.table)
        ]
        for check in due:
            self._tell("check", check.name, len(due))
            found = run_check(check, frames, self._windows)
            self._note_checks([found])
            self._tell("checked", check.name, found)
        failures = self.run.failures
        if failures:
            raise CheckFailed(
                "; ".join(map(str, failures)),
                subject=f"{self._parts.name}, run {self.run.id}",
                advice=f"Look at {self.run.branch}, repair the rows or the check, then resume the run.",
                failures=failures,
            )

    def _note_checks(self, found: Iterable[CheckRun]) -> None:
        listed = list(found)
        self.run.checks.extend(listed)
        self._journal.checks(
            [
                {
                    "check": f"{one.table}: {one.name}",
                    "table": one.table,
                    "severity": one.severity,
                    "passed": one.passed,
                    "failed": one.failed,
                    "value": one.value,
                    "message": one.message,
                    "examples": examples_text(one.examples),
                }
                for one in listed
            ]
        )

    # Publishing.

    def _publish(self, branch: Catalog) -> None:
        if not self._target.at(version=self._base).diff(branch):  # streams had nothing to read
            self._finish()
            return
        self._tell("publish", self.run.branch)
        message = f"{self._parts.name} run {self.run.id}"
        relied_on = self._relied_on(branch) if self._options.isolation == "serializable" else {}
        author = str(self._journal.row["author"] or "")
        note_waiting(self._parts.hooks, self._journal)
        result = publish(
            self._target, branch, self._spark, message, author, self._journal.uuid, summary(self._journal), relied_on
        )
        self.run.published = result.commit
        self._finish()

    def _relied_on(self, branch: Catalog) -> dict[str, State]:
        """The tables that the run's steps read and did not make, as they were when it began."""
        graph, then = self._parts.graph, self._target.at(version=self._base)
        outputs = {table for step in graph.steps.values() for table in step.outputs}
        read = {
            name
            for step in self.run.steps
            if step.status == "done"
            for name, source in graph.tables(step.name).items()
            if name not in outputs and not (isinstance(source, Read) and source.at is not None)
        }
        return {name: state_of(then.table(name)) for name in sorted(read) if then.table_exists(name)}

    def _finish(self) -> None:
        """What comes after the merge."""
        if self.run.published is None:
            end_unchanged(self.run, self._target, self._journal)
            always = [PREFIX + hook.name for hook in self._parts.hooks if hook.is_always]
            run_hooks(self._parts, self._target, self._spark, self.run, self._journal, self._lake, only=always)
            return
        finish(self.run, self._parts, self._target, self._spark, self._journal, self._lake)

    def _end(self, status: Status, error: LakebedError | None = None) -> None:
        self.run.status, self.run.error = status, error
        version = None if self.run.published is None else str(self.run.published.version)
        text = None if error is None else str(error)
        if error is not None:
            with suppress(LakebedError):
                self._journal.change(status=status, ended=now(), error=text)
        else:
            self._journal.change(status=status, ended=now(), published=version, error=None)

    def _tell(self, kind: Any, about: str, detail: Any = None) -> None:
        self.run.took = timedelta(seconds=monotonic() - self._began)
        for listener in self._options.listeners:
            try:
                listener(Event(kind, about, self.run, detail))
            except Exception as error:  # what is only shown keeps no run from its end
                _log.warning("run %s: %r failed at %s: %s", self.run.id, listener, kind, error)


def _lineage_rows(made: Made, states: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the columns of a step's tables were made from; of a frame that nobody can look into, the tables."""
    for table, columns in made.lineage.items():
        found = {("", (name, "")) for name in states} if columns is None else _pairs(columns)
        for column, (source, source_column) in sorted(found):
            yield {
                "table": table,
                "column": column,
                "input_table": source,
                "input_column": source_column,
                "input_version": None if source not in states else str(states[source]["version"]),
            }


def _pairs(columns: Mapping[str, Columns]) -> set[tuple[str, tuple[str, str]]]:
    return {(column, source) for column, sources in columns.items() for source in sources}


def _written(step: Step, branch: Catalog, name: str, made: Made) -> str:
    """The condition on the rows of a table that the run's windows made."""
    assert step.window is not None
    schema = branch.table(name).schema
    column = window_column(step, step.window, schema)
    kind = str(schema.field(column).type)
    return " OR ".join(f"({window.condition(column, kind)})" for window, _ in made.windows)
