"""Checks: what has to be true of whole tables, on the run's branch, before it is published."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from lakebed.errors import Invalid
from lakebed.pipelines.inputs import Read, Source
from lakebed.pipelines.sql import run_text
from lakebed.pipelines.windows import length_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Severity = Literal["error", "warn"]

EXAMPLES = 1_000
"""How many bad rows are kept with the run."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found: whether it passed, the value that it looked at, and a sentence for people."""

    passed: bool
    value: Any = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a built-in check looks at: its table as the branch has it, as it was published, and other tables by name."""

    spark: "SparkSession"
    rows: "DataFrame"
    published: "Callable[[], DataFrame | None]"
    table: "Callable[[str], DataFrame]"


Test = Callable[[Seen], Any]
"""Answers a bool, a DataFrame of bad rows, or a `Result`."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one table; `function` is the user's, with its inputs, or `test` is built in."""

    name: str
    table: str
    severity: Severity = "error"
    whole: bool = False
    function: Callable[..., Any] | None = None
    inputs: Mapping[str, Source] = field(default_factory=dict)
    test: Test | None = None
    others: tuple[str, ...] = ()
    """Other tables that it reads."""
    columns: tuple[str, ...] = ()
    """The columns of its table that it looks at."""
    is_about_time: bool = False
    """Whether it may fail although no row has changed."""

    def tables(self) -> Iterator[str]:
        """The tables that have to be made before it can look at them."""
        yield self.table
        yield from self.others
        for source in self.inputs.values():
            if isinstance(source, Read) and source.at is None:
                yield source.name


def unique(table: str, *columns: str, severity: Severity = "error", whole: bool = True) -> Check:
    """No two rows of a table are alike in these columns; rows in which one is null are left out."""
    names = _columns(columns)

    def test(seen: Seen) -> Any:
        from pyspark.sql import functions as F

        counted = seen.rows.dropna(subset=list(names)).groupBy(*map(_quoted, names)).agg(F.count("*").alias("rows"))
        return counted.where("rows > 1")

    return Check(f"unique({', '.join(names)})", table, _severity(severity), whole, test=test, columns=names)


def not_null(table: str, *columns: str, severity: Severity = "error", whole: bool = False) -> Check:
    """No row has a null in these columns."""
    names = _columns(columns)

    def test(seen: Seen) -> Any:
        return seen.rows.where(" OR ".join(f"{_quoted(name)} IS NULL" for name in names))

    return Check(f"not_null({', '.join(names)})", table, _severity(severity), whole, test=test, columns=names)


def references(
    table: str,
    column: str,
    other: str,
    other_column: str | None = None,
    *,
    severity: Severity = "error",
    whole: bool = False,
) -> Check:
    """Every value of a column, but null, is in a column of another table."""
    there = other_column or column

    def test(seen: Seen) -> Any:
        from pyspark.sql import functions as F

        known = seen.table(other).select(F.col(_quoted(there)).alias("__known")).distinct()
        rows = seen.rows.where(f"{_quoted(column)} IS NOT NULL")
        return rows.join(known, F.col(_quoted(column)) == F.col("__known"), "left_anti")

    name = f"references({column}, {other}.{there})"
    return Check(name, table, _severity(severity), whole, test=test, others=(other,), columns=(column,))


def accepted(
    table: str, column: str, values: Sequence[Any], *, severity: Severity = "error", whole: bool = False
) -> Check:
    """Every value of a column, but null, is one of these."""
    allowed = list(values)

    def test(seen: Seen) -> Any:
        from pyspark.sql import functions as F

        return seen.rows.where(F.col(_quoted(column)).isNotNull() & ~F.col(_quoted(column)).isin(allowed))

    return Check(f"accepted({column})", table, _severity(severity), whole, test=test, columns=(column,))


def row_count(
    table: str,
    min: int | None = None,
    max: int | None = None,
    change: float | None = None,
    *,
    severity: Severity = "error",
) -> Check:
    """A table has `min` to `max` rows, and at most the share `change` more or fewer than were published."""
    if min is None and max is None and change is None:
        raise Invalid("row_count has no limit", expected="min, max or change")

    def test(seen: Seen) -> Any:
        count = seen.rows.count()
        if (min is not None and count < min) or (max is not None and count > max):
            return Result(False, count, f"{count:,} rows, expected {_between(min, max)}")
        before = seen.published() if change is not None else None
        known = None if before is None else before.count()
        if change is not None and known and abs(count - known) > change * known:
            return Result(False, count, f"{count:,} rows, {known:,} before: more than {change:.0%} apart")
        return Result(True, count, f"{count:,} rows")

    shown = ", ".join(
        f"{name}={value}" for name, value in (("min", min), ("max", max), ("change", change)) if value is not None
    )
    return Check(f"row_count({shown})", table, _severity(severity), True, test=test)


def fresh(table: str, column: str, within: str, *, severity: Severity = "error") -> Check:
    """The newest time in a column is at most so long ago: `lp.fresh("sales.orders", "at", "1 day")`."""
    limit = length_of(within, "within")

    def test(seen: Seen) -> Any:
        from pyspark.sql import functions as F

        [newest] = seen.rows.agg(F.max(F.unix_micros(F.col(_quoted(column)).cast("timestamp")))).first() or [None]
        if newest is None:
            return Result(False, None, "no row has a time")
        age = datetime.now(UTC) - datetime.fromtimestamp(newest / 1e6, UTC)
        return Result(age <= limit, str(age), f"the newest row is {age} old")

    name = f"fresh({column}, {within})"
    return Check(name, table, _severity(severity), True, test=test, columns=(column,), is_about_time=True)


def equal(table: str, query: str, other: str, *, severity: Severity = "error") -> Check:
    """Two queries have the same rows; `{sales.orders}` in their text is a table of the run's branch."""

    def test(seen: Seen) -> Any:
        left, right = (_query(seen, text) for text in (query, other))
        return left.exceptAll(right).unionAll(right.exceptAll(left))

    return Check(f"equal({query}, {other})"[:200], table, _severity(severity), True, test=test)


def _query(seen: Seen, text: str) -> "DataFrame":
    return run_text(seen.spark, text, seen.table)


def _columns(columns: Sequence[str]) -> tuple[str, ...]:
    if not columns or not all(isinstance(name, str) for name in columns):
        raise Invalid("a check names columns", expected="one or more", found=repr(columns))
    return tuple(columns)


def _severity(given: str) -> Any:
    if given not in ("error", "warn"):
        raise Invalid("a check is an error or a warning", expected="error or warn", found=repr(given))
    return given


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _between(low: int | None, high: int | None) -> str:
    if low is None:
        return f"at most {high:,}"
    return f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
