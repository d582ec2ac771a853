"""Expectations: conditions on one row of what a step makes, counted in the pass that writes it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from lakebed.errors import Invalid

Severity = Literal["error", "warn", "drop", "quarantine"]
SEVERITIES = get_args(Severity)

Function = TypeVar("Function", bound=Callable[..., Any])

_MARK = "__lakebed_expectations__"
"""The attribute of a function that has its expectations."""

QUARANTINE = "__quarantine"
"""What follows the name of a table in that of the table which has its quarantined rows."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition that rows should pass; a row for which it is null fails. `up_to` is how many, or what share, may."""

    condition: str
    name: str
    severity: Severity
    up_to: float = 0

    @property
    def keeps_rows(self) -> bool:
        """Whether rows that fail are written to the table all the same."""
        return self.severity in ("error", "warn")

    def allowed(self, rows: int) -> float:
        """How many of so many rows may fail."""
        return self.up_to if self.up_to >= 1 else self.up_to * rows

    def passes(self, failed: int, rows: int) -> bool:
        """Whether so many failed rows are few enough."""
        return failed <= self.allowed(rows)

    def __call__(self, function: Function) -> Function:
        """Mark a function of Spark's declarative pipelines: the expectation stands below `@dp.table`."""
        if not callable(function):
            raise Invalid("an expectation stands above a function", found=f"{function!r:.80}")
        function.__dict__[_MARK] = (self, *expectations_of(function))
        return function


def expectations_of(function: object) -> tuple[Expectation, ...]:
    """The expectations that a function is marked with, the topmost first."""
    return tuple(getattr(function, _MARK, ()))


def expect(condition: str, *, or_: Severity = "error", up_to: float = 0, name: str | None = None) -> Expectation:
    """A condition of Spark's SQL that each row of a step should pass: `lp.expect("price >= 0", or_="quarantine")`.

    What happens to rows that fail, or for which it is null: with `error` nothing is published, with `warn` they are
    counted, with `drop` left out, with `quarantine` kept in a table beside. `up_to` is the number of rows that may fail
    before an error is one, or the share of them if it is less than 1.
    """
    if not isinstance(condition, str) or not condition.strip():
        raise Invalid("an expectation is a condition", expected='text, such as "price >= 0"', found=repr(condition))
    if or_ not in SEVERITIES:
        raise Invalid("rows that fail can't be treated like this", expected=", ".join(SEVERITIES), found=repr(or_))
    if isinstance(up_to, bool) or not isinstance(up_to, int | float) or up_to < 0:
        raise Invalid("up_to is a number of rows, or a share", expected="0 or more", found=repr(up_to))
    return Expectation(condition, name or condition, or_, up_to)


def check_expectations(given: Sequence[object], subject: str) -> None:
    """`Invalid` for what is not an expectation, and for two of one name: they are counted by their names."""
    names: set[str] = set()
    for one in given:
        if not isinstance(one, Expectation):
            raise Invalid("this is not an expectation", expected="lp.expect(…)", found=f"{one!r:.80}")
        if one.name in names:
            raise Invalid("two expectations have one name", subject=subject, found=one.name, advice="Pass name=….")
        names.add(one.name)
