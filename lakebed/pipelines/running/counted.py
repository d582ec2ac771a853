"""Expectations counted in the pass that writes: one `observe` on the rows, and what is written of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from lakebed.pipelines.expectations import Expectation

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


def _passes(expectation: Expectation) -> Column:
    return F.coalesce(F.expr(f"({expectation.condition})"), F.lit(False))


def _fails(expectation: Expectation) -> Column:
    return ~_passes(expectation)


def _all_pass(expectations: Sequence[Expectation]) -> Column:
    found = F.lit(True)
    for expectation in expectations:
        found = found & _passes(expectation)
    return found
