"""Spans of a table's history by sequence number: what a state stands for, and what deltas bring on top of it."""

from dataclasses import dataclass

from lakebed.errors import Corrupt


@dataclass(frozen=True, slots=True)
class Span:
    """From the state after one sequence number to that after another: `Span(0, 100)` is the first hundred deltas."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise Corrupt("a span ends before it begins", expected="a start that is not after the end", found=str(self))

    def __add__(self, later: "Span") -> "Span":
        """Both together: what is in this one already is not added again; `Corrupt` if deltas between them are missing.

        `[0, 100] + [90, 110]` is `[0, 110]`, `[0, 100] + [85, 95]` is `[0, 100]`, `[0, 100] + [110, 120]` is a gap.
        """
        if later.start > self.end:
            raise Corrupt("deltas are missing", subject=f"{self} + {later}", expected=f"from {self.end}", found=later)
        if later.start < self.start:
            raise Corrupt("a delta is older than the state that it is added to", subject=f"{self} + {later}")
        return Span(self.start, max(self.end, later.end))

    def __str__(self) -> str:
        return f"[{self.start}, {self.end}]"
