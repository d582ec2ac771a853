"""A run, as its caller gets it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import CheckFailed, LakebedError

Status = Literal[
    "running",
    "published",
    "unchanged",
    "ready",
    "step_failed",
    "check_failed",
    "conflict",
    "interrupted",
    "discarded",
]
"""How a run stands: `ready` is complete and not published, `unchanged` had nothing to do."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """What became of a step."""

    name: str
    status: Literal["done", "skipped", "failed", "waiting"]
    action: str
    reason: str
    rows: int = 0
    dropped: int = 0
    quarantined: int = 0
    took: timedelta = timedelta()
    error: str | None = None

    def __str__(self) -> str:
        if self.status == "failed":
            return f"✗ {self.name}  {self.error}"
        if self.status != "done":
            return f"· {self.name}  {self.status}: {self.reason}"
        left = "".join(
            f"  {count:,} {what}"
            for count, what in ((self.dropped, "dropped"), (self.quarantined, "quarantined"))
            if count
        )
        return f"✓ {self.name}  {self.rows:,} rows{left}  {self.took.total_seconds():.1f} s"


@dataclass(frozen=True, slots=True)
class CheckRun:
    """What a check or an expectation found. `failed` is the number of rows that failed, if it counts rows."""

    name: str
    table: str
    severity: str
    passed: bool
    failed: int | None = None
    value: str | None = None
    message: str = ""
    examples: Sequence[dict[str, Any]] = ()

    @property
    def is_error(self) -> bool:
        """Whether it keeps the run from being published."""
        return not self.passed and self.severity == "error"

    def __str__(self) -> str:
        sign = "✓" if self.passed else "✗" if self.severity == "error" else "!"
        count = "" if not self.failed else f": {self.failed:,} rows"
        return f"{sign} {self.table}  {self.name}{count}{'  ' + self.message if self.message else ''}"


@dataclass(slots=True)
class Run:
    """A run of a pipeline: how it stands, and what its steps and checks did."""

    id: int
    pipeline: str
    into: str
    branch: str
    base: str
    status: Status = "running"
    published: Commit | None = None
    steps: list[StepRun] = field(default_factory=list)
    checks: list[CheckRun] = field(default_factory=list)
    error: LakebedError | None = None
    took: timedelta = timedelta()

    @property
    def failures(self) -> list[CheckRun]:
        """The checks that keep it from being published."""
        return [check for check in self.checks if check.is_error]

    def raise_for_status(self) -> "Run":
        """The run itself if all went well: it was published, is ready, or had nothing to do; else what was wrong.

        Of a run that was published, and then called a hook that failed, that is the hook's error.
        """
        if self.error is not None:
            raise self.error
        if self.status in ("published", "unchanged", "ready"):
            return self
        raise CheckFailed(f"the run ended as {self.status}", subject=f"{self.pipeline}, run {self.id}")

    def __str__(self) -> str:
        head = f"{self.pipeline}  run {self.id} on {self.branch} from {self.into} #{self.base}"
        end = {
            "published": f"published as #{self.published.version}" if self.published else "published",
            "unchanged": "nothing to do",
            "ready": f"complete, not published; look at {self.branch}",
        }.get(self.status, f"{self.status.replace('_', ' ')}: {self.error}; {self.branch} is kept")
        if self.status in ("published", "unchanged") and self.error is not None:
            end += f"; ✗ {self.error}"
        shown = [str(check) for check in self.checks if not check.passed]
        return "\n  ".join([head, *map(str, self.steps), *shown, end])
