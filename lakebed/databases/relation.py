"""What is read of a database: a table or a query, and of it the rows behind those that came before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Protocol

from lakebed.errors import Invalid
from lakebed.table.types.types import Field

Mark = str | int | float
"""A value of the column that tells new rows, as it is remembered."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, by its name's parts, or a query. `since` is the column that tells new rows."""

    table: tuple[str, ...] = ()
    query: str = ""
    since: str | None = None

    @property
    def text(self) -> str:
        """How it is called."""
        return ".".join(self.table) or self.query

    @property
    def source(self) -> str:
        """It as what stands behind FROM."""
        return ".".join(map(quoted, self.table)) if self.table else f"({self.query}\n) AS lakebed_source"


@dataclass(frozen=True, slots=True)
class Behind:
    """The rows that came before: up to a mark. `again`: rows with the mark itself, and with none, come again."""

    mark: Mark
    again: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a database: its type there, and here; None if no table can have it, for the reason in `problem`."""

    name: str
    type: str
    field: Field | None
    problem: str = ""
    note: str = ""


class Rows(Protocol):
    """Rows of a database, all as they were at one moment. To be closed."""

    def columns(self) -> Sequence[Column]:
        """The columns of the relation."""

    def count(self) -> int:
        """How many rows are new."""

    def unmarked(self) -> int:
        """How many of them have no value in the column that tells new rows."""

    def mark(self) -> Mark | None:
        """The highest value of that column."""

    def tied(self, mark: Mark) -> str | None:
        """A digest of the rows that will come again, with this mark or none; None if they are too many to look at."""

    def data(self, names: Sequence[str]) -> Any:
        """The new rows, in these columns: Arrow's, or a DataFrame."""

    def close(self) -> None:
        """Let the database go."""


MOST_TIED: Final = 10_000
"""Of how many rows with one mark it is remembered that they came."""


def digest(rows: Iterable[tuple[Any, ...]]) -> str:
    """Equal for equal rows, in any order."""
    whole = sum(int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest(), "big") for row in rows)
    return f"{whole % (1 << 128):032x}"


def quoted(name: str) -> str:
    """A name as SQL has it, whatever it has in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(mark: Mark) -> str:
    """A mark as SQL has it."""
    return "'" + mark.replace("'", "''") + "'" if isinstance(mark, str) else repr(mark)


def condition(relation: Relation, behind: Behind | None) -> str:
    """The rows that are new, as a WHERE."""
    if relation.since is None or behind is None:
        return ""
    column, sign = quoted(relation.since), ">=" if behind.again else ">"
    unmarked = f" OR {column} IS NULL" if behind.again else ""
    return f" WHERE {column} {sign} {literal(behind.mark)}{unmarked}"


def relation_of(table: str | Sequence[str] | None, query: str | None, since: str | None) -> Relation:
    """What is asked for: a table or a query."""
    if (table is None) == (query is None):
        raise Invalid("an import reads a table or a query", expected="one of table= and query=")
    if since is not None and (not isinstance(since, str) or not since):
        raise Invalid("since= is the name of a column", expected="text", found=repr(since))
    if query is not None:
        text = query.strip().rstrip(";").rstrip() if isinstance(query, str) else ""
        if not text or "\0" in text:
            raise Invalid("a query is text", expected="SELECT …", found=repr(query)[:80])
        return Relation(query=text, since=since)
    parts = tuple(table.split(".")) if isinstance(table, str) else tuple(table or ())
    if not parts or not all(isinstance(part, str) and part and "\0" not in part for part in parts):
        raise Invalid("a table is given by its name", expected='"schema.table", or its parts', found=repr(table)[:80])
    return Relation(parts, since=since)
