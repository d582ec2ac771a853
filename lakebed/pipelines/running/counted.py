"""Expectations counted in the pass that writes: one `observe` on the rows, and what is written of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from lakebed.errors import CheckFailed
from lakebed.pipelines.expectations import Expectation
from lakebed.pipelines.running.run import CheckRun
from lakebed.pipelines.steps import Step

ROWS, KEPT = "rows", "kept"
ERRORS, RUN, AT = "_errors", "_run", "_at"
"""What a quarantine has besides the columns of its table."""

NOT_OBSERVED = "toPyRow"
"""What Spark's error says if nothing was observed: it can't pass on a row without columns."""

SHOWN = 100
"""How many rows that failed are kept with the run."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows a step made, how many were written, and how many failed each expectation."""

    rows: int = 0
    kept: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)


class CountedRows:
    """A step's rows, of which those that may be written are, while all are counted."""

    def __init__(self, rows: DataFrame, expectations: Sequence[Expectation]) -> None:
        self._rows, self._expectations = rows, expectations
        self._observation = Observation()
        self._removing = [one for one in expectations if not one.keeps_rows]
        failed = [F.count_if(_fails(one)).alias(f"e{place}") for place, one in enumerate(expectations)]
        counted = [F.count(F.lit(1)).alias(ROWS), F.count_if(_all_pass(self._removing)).alias(KEPT)]
        self._counted = [*counted, *failed]
        self._observed = rows.observe(self._observation, *self._counted)

    def good(self) -> DataFrame:
        """The rows to write; their job counts all."""
        return self._observed.where(_all_pass(self._removing)) if self._removing else self._observed

    def bad(self, run: str) -> DataFrame:
        """The rows for the quarantine, each with the names of what it failed."""
        kept = [one for one in self._expectations if one.severity == "quarantine"]
        names = F.filter(F.array(*(F.when(_fails(one), F.lit(one.name)) for one in kept)), F.isnotnull)
        marked = self._rows.withColumn(ERRORS, names).where(F.size(ERRORS) > 0)
        return marked.withColumn(RUN, F.lit(run)).withColumn(AT, F.current_timestamp())

    def failing(self, names: Sequence[str]) -> DataFrame:
        """A few of the rows that fail some expectations."""
        failed = [one for one in self._expectations if one.name in names]
        return self._rows.where(~_all_pass(failed)).limit(SHOWN)

    def counts(self) -> Counts:
        """What the job that wrote the rows has counted."""
        found = self._found()
        failed = {one.name: int(found.get(f"e{place}") or 0) for place, one in enumerate(self._expectations)}
        return Counts(int(found.get(ROWS) or 0), int(found.get(KEPT) or 0), failed)

    def _found(self) -> dict[str, Any]:
        """What was observed. Spark leaves out of a plan what can't change its rows: then they are counted by a job."""
        try:
            found = self._observation.get
        except Exception as error:
            if NOT_OBSERVED not in str(error):
                raise
            found = {}
        return found or self._rows.agg(*self._counted).collect()[0].asDict()


def checks_of(table: str, counts: Counts, expectations: Sequence[Expectation]) -> Iterator[CheckRun]:
    """What the expectations of a table have found."""
    for one in expectations:
        failed = counts.failed[one.name]
        is_fine = failed == 0 if one.severity != "error" and not one.up_to else one.passes(failed, counts.rows)
        severity = "error" if one.severity == "error" else "warn"
        message = "" if one.severity in ("error", "warn") or not failed else f"{one.severity}: rows left out"
        yield CheckRun(one.name, table, severity, is_fine, failed, str(counts.rows), message)


def failure(step: Step, table: str, counted: CountedRows, checks: Sequence[CheckRun]) -> CheckFailed:
    """The error of expectations that failed, with some of the rows."""
    failed = [check for check in checks if check.is_error]
    rows = [row.asDict(recursive=True) for row in counted.failing([check.name for check in failed]).collect()]
    shown = [
        CheckRun(
            one.name,
            one.table,
            one.severity,
            one.passed,
            one.failed,
            one.value,
            one.message,
            rows if one in failed else (),
        )
        for one in checks
    ]
    return CheckFailed(
        "; ".join(f"{check.name}: {check.failed:,} of {check.value} rows failed" for check in failed),
        subject=f"step {step.name}, table {table}",
        found=rows[0] if rows else None,
        advice="Repair the rows or the step, then resume the run.",
        failures=shown,
    )


def _passes(expectation: Expectation) -> Column:
    return F.coalesce(F.expr(f"({expectation.condition})"), F.lit(False))


def _fails(expectation: Expectation) -> Column:
    return ~_passes(expectation)


def _all_pass(expectations: Sequence[Expectation]) -> Column:
    found = F.lit(True)
    for expectation in expectations:
        found = found & _passes(expectation)
    return found
