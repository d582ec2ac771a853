"""The sizes of the measurements."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """`rounds` is for workloads that take seconds, `many_rounds` for those that take less."""

    rows: int
    files: int
    many_files: int
    rounds: int
    many_rounds: int


SIZES = {
    "full": Size(rows=10_000_000, files=16, many_files=1_000, rounds=7, many_rounds=9),
    "quick": Size(rows=40_000, files=4, many_files=40, rounds=1, many_rounds=1),
}
