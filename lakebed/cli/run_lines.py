"""What is said of a run of a pipeline: its steps and checks as lines, its events and its end as JSON."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING

from lakebed.cli.output import Output
from lakebed.cli.values import safe_text
from lakebed.lake.lake import Lake
from lakebed.pipelines.records.journal import found as find_run

if TYPE_CHECKING:
    from lakebed.pipelines.running.run import CheckRun, Run, StepRun
    from lakebed.pipelines.running.runner import Event

Listener = Callable[["Event"], None]


@dataclass(frozen=True, slots=True)
class Totals:
    """What the commit of a run changed, in all its tables."""

    tables: int
    files_added: int
    rows_added: int
    rows_removed: int

    def __str__(self) -> str:
        parts = [_counted(self.tables, "table"), _counted(self.files_added, "file")]
        signed = (("+", self.rows_added), ("−", self.rows_removed))
        rows = " ".join(f"{sign}{count:,}" for sign, count in signed if count)
        word = "row" if self.rows_added + self.rows_removed == 1 else "rows"
        return ", ".join([*parts, f"{rows} {word}"] if rows else parts)


@contextmanager
def shown(output: Output, lake: Lake) -> Iterator[Listener]:
    """What shows the events of a run while it goes on: JSON, a display on a terminal, or plain lines."""
    if output.is_json:
        yield lambda event: _write_json(output, lake, event)
    elif output.is_quiet:
        yield lambda event: None
    elif output.is_terminal:
        output.skip_head()
        with _board() as listener:
            yield listener
    else:
        yield _Lines(output)


def _board() -> AbstractContextManager[Listener]:
    """The display, which draws with rich."""
    board: AbstractContextManager[Listener] = import_module("lakebed.cli.run_board").board()
    return board


class _Lines:
    """A line for each step and each check that has ended."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._width = 0

    def _write(self, line: str) -> None:
        self._output.text(line)
        self._output.flush()

    def __call__(self, event: "Event") -> None:
        if event.kind == "begin":
            self._width = max(map(len, event.detail), default=0)
            self._write(head_line(event.run))
        elif event.kind == "done":
            self._write(step_line(event.detail, self._width))
            for found in expectations_of(event):
                self._write(f"    {check_line(found)}")
        elif event.kind == "checked":
            self._write(f"  {check_line(event.detail)}")
        elif event.kind == "end" and event.run.status == "interrupted":
            self._write(interrupted_line(event.run))


def head_line(run: "Run") -> str:
    """Which run begins."""
    return safe_text(f"{run.pipeline}  run {run.id} on {run.branch} from {run.into} #{run.base}")


def step_line(step: "StepRun", width: int) -> str:
    """What became of a step; `width` is that of the column of names."""
    name = fitted_name(step.name, width)
    if step.status == "failed":
        lines = (step.error or "").strip().splitlines()
        return safe_text(f"  ✗ {name}  {lines[0] if lines else 'failed'}")
    if step.status != "done":
        return safe_text(f"  · {name}  {step.status}: {step.reason}")
    counts = [f"{step.rows:>11,} rows"]
    for count, what in ((step.dropped, "dropped"), (step.quarantined, "quarantined")):
        counts += [f"{count:,} {what}"] if count else []
    took = step.reason if step.reason == "done before" else clock(step.took)
    return safe_text(f"  ✓ {name}  {'   '.join([*counts, took])}")


def fitted_name(name: str, width: int) -> str:
    """A name as wide as its column; of a longer one the end, which tells it from others."""
    return f"{name:<{width}}" if len(name) <= width else f"…{name[-width + 1 :]}"


def check_line(check: "CheckRun") -> str:
    """What a check or an expectation found."""
    return safe_text(str(check)).replace("\n", " ")


def expectations_of(event: "Event") -> "list[CheckRun]":
    """The expectations of the step that has ended which some of its rows did not meet."""
    step = event.detail
    return [
        check
        for check in event.run.checks
        if not check.passed and (check.table == step.name or step.status == "failed")
    ]


def interrupted_line(run: "Run") -> str:
    """What to do after Ctrl-C."""
    return f"interrupted; {run.branch} is kept. Go on: lakebed runs resume {run.id}"


def clock(took: timedelta) -> str:
    """`0:09`, or `1:02:03`."""
    seconds = int(took.total_seconds())
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def end_line(lake: Lake, run: "Run") -> str:
    """How a run ended, as its last line says it; empty if its error says it."""
    if run.status == "published" and run.published is not None:
        what = f"published as #{run.published.version}: {totals(lake, run)}"
    elif run.status == "unchanged":
        return "nothing to do"
    elif run.status == "ready":
        what = f"complete, not published; look at {run.branch}, then `lakebed runs publish {run.id}`"
    else:
        return ""
    return safe_text(f"{what} · {clock(run.took)}")


def totals(lake: Lake, run: "Run") -> Totals:
    """What the commit that published a run has changed."""
    assert run.published is not None
    row = find_run(lake, run.id).row
    line = lake.catalog(f"{row['catalog']}@{row['into']}")
    before, after = (line.at(version=int(one.version)) for one in (run.published.parents[0], run.published))
    tables = [one for one in before.diff(after) if one.type == "table"]
    return Totals(
        len(tables),
        sum(one.files_added for one in tables),
        sum(one.rows_added for one in tables),
        sum(one.rows_removed for one in tables),
    )


def run_fields(lake: Lake, run: "Run") -> dict[str, object]:
    """The last event of a run: how it ended."""
    changed = totals(lake, run) if run.published is not None else Totals(0, 0, 0, 0)
    return {
        "event": "end",
        "run": run.id,
        "pipeline": run.pipeline,
        "status": run.status,
        "branch": run.branch,
        "base": run.base,
        "published": None if run.published is None else run.published.version,
        "tables": changed.tables,
        "files_added": changed.files_added,
        "rows_added": changed.rows_added,
        "rows_removed": changed.rows_removed,
        "seconds": round(run.took.total_seconds(), 3),
        "error": None if run.error is None else str(run.error),
    }


def _write_json(output: Output, lake: Lake, event: "Event") -> None:
    if event.kind == "end":
        if event.run.status == "interrupted":  # else its caller gets the run, and writes its end
            output.json(run_fields(lake, event.run))
    else:
        output.json({"event": event.kind, "run": event.run.id, "about": event.about, **_details(event)})
    output.flush()


def _details(event: "Event") -> dict[str, object]:
    run, detail = event.run, event.detail
    match event.kind:
        case "begin":
            return {"branch": run.branch, "into": run.into, "base": run.base, "steps": list(detail)}
        case "window":
            return {"window": detail.window.label, "rows": detail.rows, "done": detail.done, "of": detail.of}
        case "done":
            return {
                "status": detail.status,
                "action": detail.action,
                "reason": detail.reason,
                "rows": detail.rows,
                "dropped": detail.dropped,
                "quarantined": detail.quarantined,
                "seconds": round(detail.took.total_seconds(), 3),
                "error": detail.error,
            }
        case "check":
            return {"of": detail}
        case "checked":
            return {
                "table": detail.table,
                "severity": detail.severity,
                "passed": detail.passed,
                "failed": detail.failed,
                "value": detail.value,
                "message": detail.message,
            }
        case _:
            return {}


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
