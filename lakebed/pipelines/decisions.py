"""Whether a step has to run, and why: its code and its inputs against what its last published run noted."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from lakebed.errors import Expired, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.pipelines.facts import Fact, fact_of, windows_of
from lakebed.pipelines.inputs import Given, Input, Read
from lakebed.pipelines.late import changed_windows, has_times
from lakebed.pipelines.states import State, is_unchanged, table_then
from lakebed.pipelines.steps import ALWAYS, Step
from lakebed.pipelines.windows import Schedule

CODE = "its code changed"


class Action(Enum):
    """What a run does with a step."""

    SKIP = "skip"
    CREATE = "create"
    UPDATE = "update"
    REBUILD = "rebuild"
    WINDOWS = "windows"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a step, and why.

    `windows` are the numbers to make. `late` are those that are done and have late rows: if they are not asked for,
    they stay to be made.
    """

    action: Action
    reason: str
    windows: tuple[int, ...] = ()
    late: frozenset[int] = frozenset()

    @property
    def runs(self) -> bool:
        """Whether anything is done."""
        return self.action is not Action.SKIP

    @property
    def is_of_code(self) -> bool:
        """Whether it is because the code of the step has changed."""
        return CODE in self.reason

    @property
    def starts_over(self) -> bool:
        """Whether all rows of the inputs are read, whatever was read before."""
        return self.action in (Action.CREATE, Action.REBUILD)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller wants whatever the facts say."""

    force: bool = False
    full_refresh: frozenset[str] = frozenset()
    retry: frozenset[str] = frozenset()
    first: datetime | None = None
    last: datetime | None = None
    now: datetime = field(default_factory=datetime.now)
    goes_on: bool = False
    """Whether the run has made some of a step's windows or batches, and only the others are left."""


def decide(
    step: Step, tables: Mapping[str, Input], line: Catalog, code: str, asked: Asked, dirty: Iterable[str] = ()
) -> Decision:
    """What to do with a step, as a line has its tables. `dirty` are those that will change before it runs."""
    if not step.enabled:
        return Decision(Action.SKIP, "disabled")
    found = [line.table(name) for name in step.outputs if line.table_exists(name)]
    facts = [fact_of(table) for table in found]
    fact = next((one for one in facts if one is not None), None)
    dirty = set(dirty)
    if step.window is not None:
        found_now = _decide_windows(step, step.window, tables, line, code, asked, found, fact)
        waits = sorted(name for name in tables if name in dirty)
        if not waits or asked.first is not None or asked.last is not None:
            return found_now
        more = f"those in which {', '.join(waits)} changes"
        reason = f"{found_now.reason}, and {more}" if found_now.runs else more
        return replace(found_now, action=Action.WINDOWS, reason=reason)
    if len(found) < len(step.outputs) or fact is None:
        return Decision(Action.CREATE, "new" if not found else "not yet made by a pipeline")
    if is_refreshed(step, asked) and not (step.flows and asked.goes_on):
        return Decision(Action.REBUILD, "full refresh")
    if fact.code != code:
        # What a stream has read may be gone from where it came: it goes on, as Spark's own does.
        return Decision(Action.UPDATE if step.flows else Action.REBUILD, CODE)
    lost = list(_lost_positions(tables, line, fact)) if step.write.is_incremental and not step.flows else []
    if lost:
        return Decision(Action.REBUILD, f"the last state of {lost[0]} can't be read any more")
    if step.flows and asked.goes_on:
        return Decision(Action.UPDATE, "goes on with its streams")
    if asked.force:
        return Decision(Action.UPDATE, "forced")
    if step.name in asked.retry:
        return Decision(Action.UPDATE, "rows of its quarantine again")
    if step.version == ALWAYS:
        return Decision(Action.UPDATE, "runs always")
    if step.version is None and _reads_unseen(step, tables):
        return Decision(Action.UPDATE, "reads what can't be seen")
    changed = list(changed_inputs(tables, line, fact, dirty))
    if changed:
        return Decision(Action.UPDATE, f"{', '.join(changed)} changed")
    return Decision(Action.SKIP, "same code, same inputs")


def changed_inputs(tables: Mapping[str, Input], line: Catalog, fact: Fact, dirty: set[str]) -> Iterator[str]:
    """The inputs that are not as the fact has them."""
    for name, source in tables.items():
        if isinstance(source, Read) and source.at is not None:
            continue
        then = fact.inputs.get(name)
        if name in dirty or then is None or not line.table_exists(name) or not is_unchanged(line.table(name), then):
            yield name


def _decide_windows(
    step: Step,
    schedule: Schedule,
    tables: Mapping[str, Input],
    line: Catalog,
    code: str,
    asked: Asked,
    found: list[Table[Any]],
    fact: Fact | None,
) -> Decision:
    due = schedule.due(asked.now)
    done = windows_of(found[0]).numbers(code) if found and fact is not None else set()
    late = _late(schedule, tables, line, fact, done) if fact is not None and fact.code == code else set()
    wanted = {number for number in due if number not in done or number in late}
    if asked.first is not None or asked.last is not None:
        first = due.start if asked.first is None else schedule.number(asked.first)
        last = due.stop - 1 if asked.last is None else schedule.number(asked.last)
        wanted = set(range(first, last + 1))
        reason = "asked for"
    elif asked.force or is_refreshed(step, asked):
        wanted, reason = set(due), "forced" if asked.force else "full refresh"
    else:
        reason = _reasons(schedule, wanted, late, fact is not None and fact.code != code)
    if asked.goes_on:
        wanted -= done - late
    if not wanted:
        return Decision(Action.SKIP, _nothing_due(schedule, tables, line, fact))
    return Decision(Action.WINDOWS, reason, tuple(sorted(wanted)), frozenset(late))


def _nothing_due(schedule: Schedule, tables: Mapping[str, Input], line: Catalog, fact: Fact | None) -> str:
    """Why no window is made, although an input may have changed: one without the column has rows of no window."""
    beside = {
        name: source
        for name, source in tables.items()
        if line.table_exists(name) and not has_times(line.table(name), schedule)
    }
    changed = [] if fact is None else list(changed_inputs(beside, line, fact, set()))
    if changed:
        return f"all windows are made; {', '.join(changed)} changed, without a column {schedule.column}"
    return "all windows are made, and no input changed in them"


def _reasons(schedule: Schedule, wanted: set[int], late: set[int], is_changed: bool) -> str:
    new = sorted(wanted - late)
    parts = []
    if late:
        parts.append(f"late rows in {_some(schedule, sorted(late))}")
    if new:
        parts.append(CODE if is_changed else f"new {_some(schedule, new)}")
    return "; ".join(parts)


def _some(schedule: Schedule, numbers: list[int]) -> str:
    shown = [schedule.label(number) for number in numbers]
    return ", ".join(shown) if len(shown) <= 3 else f"{shown[0]} … {shown[-1]}"


def _late(schedule: Schedule, tables: Mapping[str, Input], line: Catalog, fact: Fact, done: set[int]) -> set[int]:
    """The windows that are done, in which an input that has the column has changed rows."""
    found: set[int] = set()
    for name, source in tables.items():
        then = fact.inputs.get(name)
        if then is None or (isinstance(source, Read) and source.at is not None) or not line.table_exists(name):
            continue
        table = line.table(name)
        if not is_unchanged(table, then):
            found |= changed_windows(table, then, schedule, done)
    return found


def _lost_positions(tables: Mapping[str, Input], line: Catalog, fact: Fact) -> Iterator[str]:
    for name, source in tables.items():
        then = fact.inputs.get(name)
        if isinstance(source, Read) or then is None or not line.table_exists(name):
            continue
        if not _is_readable(line.table(name), then):
            yield name


def _is_readable(now: Table[Any], then: State) -> bool:
    if str(now.id) != then.table:
        return False
    try:
        table_then(now, then)
    except (NotFound, Expired):
        return False
    return True


def is_refreshed(step: Step, asked: Asked) -> bool:
    """Whether the caller wants a step to be made from all rows."""
    return bool({step.name, *step.outputs} & asked.full_refresh)


def _reads_unseen(step: Step, tables: Mapping[str, Input]) -> bool:
    takes = {source.name for source in step.inputs.values() if isinstance(source, Given)}
    return not tables or bool(takes & {"spark", "lake"})
