"""Rows of Arrow as rows of an answer."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def arrow_rows(batches: Iterable[Any]) -> Iterator[Sequence[object]]:
    """The rows of Arrow's batches, or of a table's, as tuples of Python's values."""
    for batch in batches:
        yield from zip(*(_values(column) for column in batch.columns), strict=True)


def _values(column: Any) -> list[object]:
    try:
        return list(column.to_pylist())
    except ValueError:  # nanoseconds, if pandas is not installed
        return [str(value) if value.is_valid else None for value in column]
