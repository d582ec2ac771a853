"""Partition specs and sort orders of the pipelines' model."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hypothesis import strategies as st

from lakebed.spark.fit import quoted
from tests.support.pipeline.values import Column, single

TRANSFORMS: Final = {
    "date": ["year", "month", "day", ""],
    "timestamp": ["year", "month", "day", "hour"],
    "timestamptz": ["year", "month", "day", "hour"],
    "string": ["", "truncate(2)", "bucket(3)"],
    "binary": ["bucket(2)", "truncate(1)"],
    "boolean": [""],
    "int": ["", "bucket(3)"],
    "long": ["bucket(3)", ""],
    "float": [""],
    "double": [""],
    "decimal(9, 2)": ["", "bucket(2)"],
    "decimal(15, 3)": ["", "truncate(10)"],
    "decimal(20, 2)": ["bucket(2)", "truncate(7)"],
}
WAYS: Final = ["", "desc", "desc nulls first", "asc nulls last"]


class Term(NamedTuple):
    """A field of a partition spec or a sort order."""

    transform: str
    number: int
    way: str = ""


def specs(columns: Iterable[Column]) -> st.SearchStrategy[list[Term]]:
    one = st.sampled_from(single(sorted(columns))).flatmap(_partitions)
    return st.lists(one, max_size=2, unique_by=lambda term: term.number)


def _partitions(column: Column) -> st.SearchStrategy[Term]:
    kinds = ["truncate(10)", "bucket(3)", ""] if column.born in ("int", "long") else TRANSFORMS[column.type]
    return st.sampled_from(kinds).map(lambda kind: Term(kind, column.number))


def orders(columns: Iterable[Column]) -> st.SearchStrategy[list[Term]]:
    one = st.builds(
        lambda column, way: Term("", column.number, way),
        st.sampled_from(single(sorted(columns))),
        st.sampled_from(WAYS),
    )
    return st.lists(one, max_size=2, unique_by=lambda term: term.number)


def spelled(term: Term, name: str) -> str:
    """A term as a table is given it."""
    name = quoted(name)
    if term.transform:
        kind, _, parameter = term.transform.rstrip(")").partition("(")
        name = f"{kind}({parameter}, {name})" if parameter else f"{kind}({name})"
    return f"{name} {term.way}".rstrip()
