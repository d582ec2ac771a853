"""Windows: the hours, days or months of a table that a step makes one by one, each replaced whole when it is made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from lakebed.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import Column

Unit = Literal["hour", "day", "month"]
Time = date | str

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which windows a step has. `column` says when a row of its inputs happened, `into` the same of its own rows.

    `batch` windows in a row are made by one call of the step. A window is due `wait` after its end; without `wait`,
    when it begins: it is made again when more rows come. Times are UTC.
    """

    unit: Unit
    column: str
    since: datetime
    until: datetime | None = None
    batch: int = 1
    wait: timedelta | None = None
    into: str | None = None

    def number(self, moment: datetime) -> int:
        """The number of the window that a moment is in, counted from 1970."""
        if self.unit == "month":
            return (moment.year - 1970) * 12 + moment.month - 1
        return (moment - EPOCH) // (HOUR if self.unit == "hour" else DAY)

    def start(self, number: int) -> datetime:
        """The first moment of a window."""
        if self.unit == "month":
            return datetime(1970 + number // 12, number % 12 + 1, 1)
        return EPOCH + number * (HOUR if self.unit == "hour" else DAY)

    def due(self, now: datetime) -> range:
        """The numbers of all windows that can be made now."""
        first = self.number(self.since)
        if self.wait is not None:
            last = self.number(now - self.wait)  # this one has not ended so long ago
        else:
            last = self.number(now) + 1
        if self.until is not None:
            last = min(last, self.number(self.until - timedelta(microseconds=1)) + 1)
        return range(first, max(first, last))

    def label(self, number: int) -> str:
        """A window as people write it: 2026-11-01, 2026-11 or 2026-11-01T05."""
        return self.start(number).strftime({"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}[self.unit])

    def __str__(self) -> str:
        return f"by {self.unit} of {self.column}"


@dataclass(frozen=True, slots=True)
class Window:
    """One window, or several in a row: rows from `start` on and before `end`, both in UTC without a zone."""

    column: str
    start: datetime
    end: datetime
    label: str
    kinds: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """How the inputs keep a column of this name: as `date`, `timestamp` or `timestamptz`."""

    def of(self, column: str | None = None) -> "Column":
        """The condition that a row is in the window, by a column, for `where`: `orders.where(window.of("at"))`."""
        from pyspark.sql import functions as F

        return F.expr(self.condition(column or self.column))

    def condition(self, column: str, kind: str | None = None) -> str:
        """The same as Spark's SQL."""
        name = f"`{column.replace('`', '``')}`"
        kept = kind or self.kinds.get(column.casefold(), "timestamp")
        return f"{name} >= {_literal(self.start, kept)} AND {name} < {_literal(self.end, kept)}"

    def __str__(self) -> str:
        return self.label


def hourly(column: str, since: Time, until: Time | None = None, **options: Any) -> Schedule:
    """A window for each hour: `window=lp.hourly("at", since="2026-11-01")`. The rest is as in `daily`."""
    return _schedule("hour", column, since, until, **options)


def daily(column: str, since: Time, until: Time | None = None, **options: Any) -> Schedule:
    """A window for each day: `window=lp.daily("at", since="2026-01-01", batch=30, wait="2 hours", into="day")`.

    `batch` windows in a row are made by one call. A window is made when it begins, or `wait` after its end, and again
    when an input has changed in it. `into` is the column of the step's own rows that says the window; by default the
    column of the same name, or its only date or time.
    """
    return _schedule("day", column, since, until, **options)


def monthly(column: str, since: Time, until: Time | None = None, **options: Any) -> Schedule:
    """A window for each month. The rest is as in `daily`."""
    return _schedule("month", column, since, until, **options)


def runs_of(numbers: Iterator[int] | range | list[int], longest: int | None = None) -> Iterator[range]:
    """Numbers in a row together, at most so many."""
    first = last = None
    for number in numbers:
        if first is not None and last is not None and number == last + 1 and (not longest or number - first < longest):
            last = number
            continue
        if first is not None and last is not None:
            yield range(first, last + 1)
        first = last = number
    if first is not None and last is not None:
        yield range(first, last + 1)


def window_of(schedule: Schedule, numbers: range, kinds: Mapping[str, str]) -> Window:
    """The window of numbers in a row."""
    first, last = schedule.label(numbers[0]), schedule.label(numbers[-1])
    label = first if len(numbers) == 1 else f"{first}..{last}"
    return Window(schedule.column, schedule.start(numbers[0]), schedule.start(numbers[-1] + 1), label, kinds)


def moment_of(given: Time, what: str) -> datetime:
    """A date or a time in UTC, without a zone."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given if len(given) != 7 else f"{given}-01")
        except ValueError:
            raise Invalid(f"{what} is a date or a time", expected="such as 2026-11-01", found=repr(given)) from None
    if isinstance(given, datetime):
        return given if given.tzinfo is None else given.astimezone(UTC).replace(tzinfo=None)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)
    raise Invalid(f"{what} is a date or a time", found=f"{given!r:.80}")


_LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


def length_of(given: timedelta | str, what: str) -> timedelta:
    """A length of time: a timedelta, or text such as `2 hours`."""
    if isinstance(given, timedelta):
        return given
    number, _, unit = str(given).strip().partition(" ")
    try:
        return timedelta(seconds=float(number) * _LENGTHS[unit.strip().rstrip("s")])
    except (KeyError, ValueError):
        raise Invalid(f"{what} is a length of time", expected='such as "2 hours"', found=repr(given)) from None


def _schedule(
    unit: Unit,
    column: str,
    since: Time,
    until: Time | None,
    *,
    batch: int = 1,
    wait: timedelta | str | None = None,
    into: str | None = None,
) -> Schedule:
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        raise Invalid("a batch is a number of windows", expected="1 or more", found=repr(batch))
    return Schedule(
        unit,
        column,
        moment_of(since, "since"),
        None if until is None else moment_of(until, "until"),
        batch,
        None if wait is None else length_of(wait, "wait"),
        into,
    )


def _literal(moment: datetime, kind: str) -> str:
    if kind == "date":
        return f"DATE '{moment:%Y-%m-%d}'"
    if kind == "timestamptz":
        return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}Z'"
    return f"TIMESTAMP_NTZ '{moment:%Y-%m-%d %H:%M:%S}'"
