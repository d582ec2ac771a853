"""A step as part of a run, and what it made."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.pipelines.inputs import Input
from lakebed.pipelines.running.lineage import Columns
from lakebed.pipelines.running.run import CheckRun
from lakebed.pipelines.steps import Step
from lakebed.pipelines.windows import Window


@dataclass(frozen=True, slots=True)
class StepOfRun:
    """A step, the tables that it reads, and the run that it is part of."""

    step: Step
    tables: Mapping[str, Input]
    code: str
    pipeline: str
    run: str
    number: int


@dataclass(frozen=True, slots=True)
class Made:
    """What a step made: its counts, what its expectations found, and the windows."""

    rows: int
    dropped: int
    quarantined: int
    checks: tuple[CheckRun, ...]
    windows: tuple[tuple[Window, int], ...] = ()
    lineage: Mapping[str, Mapping[str, Columns] | None] = field(default_factory=dict)
    """For each table what its columns were made from, None where only its tables are known."""
