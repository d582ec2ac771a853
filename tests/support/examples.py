"""How much a test tries: little in `make test`, all of it in a run with the long tests."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings


def examples(few: int, many: int) -> int:
    """By the profile of Hypothesis that tests/conftest.py loads."""
    return many if settings.get_current_profile_name() == "long" else few


def long_but(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """The cases of a grid, of which all but the quick ones are long tests."""
    known = list(cases)
    assert all(case in known for case in quick), "a quick case is not in the grid"
    return [
        case if case in quick else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for case in known
    ]


def diagonal(rows: Iterable[Any], columns: dict[str, Any]) -> list[Any]:
    """All pairs of a grid; `make test` has one of each row, so that every row and every column is tried."""
    return [
        pytest.param(row, value, id=f"{row}-{name}", marks=[] if place % len(columns) == at else [pytest.mark.long])
        for place, row in enumerate(rows)
        for at, (name, value) in enumerate(columns.items())
    ]
