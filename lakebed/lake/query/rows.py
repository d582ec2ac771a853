"""The rows that a query answers."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast, runtime_checkable

from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.html import ROWS, table_html
from lakebed.lake.shown import safely, safely_html

_MISSING = re.compile('Table with name "?(.+?)"? does not exist')

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow


class QueryRows:
    """The rows of a query, which runs each time that they are asked for; all of its tables are read at one version."""

    __slots__ = ("_connection", "_relation", "_sources")

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        relation: "duckdb.DuckDBPyRelation",
        sources: "Sequence[Failing]",
    ) -> None:
        self._connection = connection  # the relation needs it
        self._relation = relation
        self._sources = sources

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._relation.columns)

    @property
    def relation(self) -> "duckdb.DuckDBPyRelation":
        """DuckDB's own relation, to go on with: `.filter(…)`, `.aggregate(…)`, `.order(…)`."""
        return self._relation

    def to_arrow(self) -> "pyarrow.Table":
        """All rows in memory."""
        with explained(self._sources):
            return cast("pyarrow.Table", self._relation.to_arrow_table())

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a pandas DataFrame; pandas has to be installed."""
        with explained(self._sources):
            return cast("pandas.DataFrame", self._relation.df())

    def to_polars(self) -> "polars.DataFrame":
        """All rows as a frame of polars, which has to be installed."""
        with explained(self._sources):
            return cast("polars.DataFrame", self._relation.pl())

    def to_list(self) -> list[tuple[Any, ...]]:
        """All rows as tuples of Python's values."""
        with explained(self._sources):
            return self._relation.fetchall()

    def show(self, rows: int = 20) -> None:
        """Print the first rows."""
        with explained(self._sources):
            self._relation.show(max_rows=rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for all that read Arrow's C stream: pyarrow, polars, `append` of a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        first = self._relation.limit(ROWS)
        return safely_html(lambda: table_html("Query", self.columns, first.fetchall()), lambda: repr(self))

    def __repr__(self) -> str:
        return safely("Query", lambda: str(self._relation).rstrip())

    def __reduce__(self) -> NoReturn:
        raise Invalid("a query can't be pickled", advice="Pickle its rows, to_arrow(), or run it in the other process.")


@runtime_checkable
class Failing(Protocol):
    """What DuckDB reads rows from: it remembers why that failed, of which DuckDB keeps only the text."""

    failure: LakebedError | None


@contextmanager
def explained(sources: "Sequence[Failing]" = ()) -> Iterator[None]:
    """Raise what DuckDB refuses inside the `with` as `Invalid` or `NotFound`, and what its sources raised as it was."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        for source in sources:
            failure, source.failure = source.failure, None  # kept, it would hold the connection for ever
            if failure is not None:
                raise failure.with_traceback(None) from None
        raise translated_error(error) from error


def translated_error(error: "duckdb.Error") -> LakebedError:
    """An error of DuckDB's as one of Lakebed's."""
    kind, _, rest = str(error).partition(": ")
    problem, *more = (rest or kind).splitlines()
    missing = _MISSING.match(problem)
    if missing is not None:
        advice = "Catalog.tables(recursive=True) lists the tables."
        return NotFound("there is no such table in the lake", subject=missing.group(1), advice=advice)
    found = " ".join(" ".join(more).split()) or None
    return Invalid(f"DuckDB can't run the query: {problem.rstrip(' .!')}", found=found)
